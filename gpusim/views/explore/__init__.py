"""A run as an interactive page: one file that opens in any browser, without a network."""

from gpusim.views.explore.page import Exploration, explore

__all__ = ["Exploration", "explore"]
