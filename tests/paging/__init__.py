"""Demand paging."""
