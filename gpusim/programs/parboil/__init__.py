"""Parboil's programs."""
