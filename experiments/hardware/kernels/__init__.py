"""The kernels of `experiments/hardware/cuda/kernels.cu` as gpusim executes them.

Each does what the compiled code does (nvcc 13.0, sm_90): its loads are issued together where they
are there, and instructions between them are counted in its SASS, by functional unit.
"""
