"""Strangers' files, made up: seeded mutations of good ones, put to every reader and table."""
