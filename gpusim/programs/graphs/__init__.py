"""Graphs: as kernels use them, from files, and from generators."""
