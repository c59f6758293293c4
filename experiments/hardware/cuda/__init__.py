"""Programs in CUDA C++ and Triton that measured an H100, and the tables of their figures."""
