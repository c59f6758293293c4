"""Workload files: which programs or traces run together, on which inputs, at which size."""
