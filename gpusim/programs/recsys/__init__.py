"""Kernels of recommendation models."""
