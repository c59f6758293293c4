"""Rendering: rays through a scene."""
