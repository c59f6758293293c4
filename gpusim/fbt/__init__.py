"""The forward–backward table, which makes virtual caches correct, and its process."""

from gpusim.fbt.purge import Purges
from gpusim.fbt.table import ForwardBackwardTable, Page
from gpusim.fbt.unit import Fbt

__all__ = ["Fbt", "ForwardBackwardTable", "Page", "Purges"]
