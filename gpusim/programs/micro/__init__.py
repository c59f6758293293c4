"""Microbenchmarks: programs that ask one question of a machine."""
