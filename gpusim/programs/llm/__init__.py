"""Kernels of serving and training large language models."""
