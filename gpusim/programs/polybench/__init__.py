"""PolyBench/GPU 1.0's programs."""
