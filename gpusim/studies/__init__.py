"""Studies: sweeps of many runs, reproductions of papers, characterizations of programs."""
