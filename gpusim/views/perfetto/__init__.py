"""A run as a trace for Perfetto, for its viewer and its SQL queries."""

from gpusim.views.perfetto.export import export

__all__ = ["export"]
