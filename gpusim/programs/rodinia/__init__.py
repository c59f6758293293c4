"""Rodinia 3.1's programs."""
