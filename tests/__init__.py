"""Tests of gpusim, in folders as its own."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
"""The checkout."""
