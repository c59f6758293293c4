"""Files: HDF5 columns, files that are whole or absent, TOML documents, structure, units."""
