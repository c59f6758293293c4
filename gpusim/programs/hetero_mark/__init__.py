"""Hetero-Mark's programs."""
