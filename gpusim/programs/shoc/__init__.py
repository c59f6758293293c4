"""SHOC's programs (level 1)."""
