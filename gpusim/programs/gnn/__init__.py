"""Kernels of graph neural networks."""
