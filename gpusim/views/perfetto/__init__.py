"""A run as a trace for Perfetto, to be looked at in its viewer and asked in its SQL."""

from gpusim.views.perfetto.export import export

__all__ = ["export"]
