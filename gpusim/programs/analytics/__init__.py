"""Kernels of databases."""
