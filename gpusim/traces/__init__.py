"""Trace files as programs: what other tools recorded, and what gpusim recorded itself."""
