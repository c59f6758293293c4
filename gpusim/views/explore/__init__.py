"""A run to be looked into: one page that opens in any browser, without a network."""

from gpusim.views.explore.page import Exploration, explore

__all__ = ["Exploration", "explore"]
