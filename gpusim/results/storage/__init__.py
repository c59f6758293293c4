"""HDF5 files that are whole or absent, and their columns: the ground of results and traces."""
