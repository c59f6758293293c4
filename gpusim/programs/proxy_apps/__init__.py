"""Proxy applications: LULESH, and GUPS of the HPC Challenge."""
