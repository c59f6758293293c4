"""Programs of the CUDA SDK 4.2."""
