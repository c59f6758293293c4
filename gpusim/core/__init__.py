"""What all components share: the event engine, requests, policies by name, counters, errors."""
