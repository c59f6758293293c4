"""The forward–backward table, which makes virtual caches correct, and its process."""

from gpusim.hardware.fbt.purge import Purges
from gpusim.hardware.fbt.site import FbtSite
from gpusim.hardware.fbt.table import ForwardBackwardTable, Page, make_table, page_lines_shift
from gpusim.hardware.fbt.unit import Fbt

__all__ = [
    "Fbt",
    "FbtSite",
    "ForwardBackwardTable",
    "Page",
    "Purges",
    "make_table",
    "page_lines_shift",
]
