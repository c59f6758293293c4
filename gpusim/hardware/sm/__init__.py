"""Streaming multiprocessors: warps, schedulers, coalescer, load/store unit; block scheduler."""
