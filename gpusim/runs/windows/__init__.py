"""Sampled runs: only windows of a program are timed, and the whole program is estimated."""
