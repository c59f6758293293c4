"""Runs and sweeps that are watched."""
