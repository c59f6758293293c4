"""The ground: time, what travels, policies by name, counters, errors; knows no hardware."""
