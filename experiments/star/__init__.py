"""Figures of STAR."""
