"""Kernels as PTX: read, executed in numpy for many warps at once, and recorded for the machine."""
