"""GPU programs: kernels that are run functionally in numpy, their inputs, and workload files."""
