"""Sampled runs: windows of a program that are timed, and the estimate of the whole program."""
