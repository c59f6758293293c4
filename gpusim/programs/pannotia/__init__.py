"""Pannotia's graph programs."""
