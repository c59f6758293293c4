"""DRAM standards, a module each: what lies in this folder is registered by its name.

Each module has a `STANDARD`.  Clocks are those of commands.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from gpusim.config.dram_standard import DramStandard
from gpusim.core.module_folders import import_all


@cache
def standards() -> Mapping[str, DramStandard]:
    """All standards, by the names of their modules."""
    found = {one.__name__.rpartition(".")[2]: one.STANDARD for one in import_all(__name__)}
    return dict(sorted(found.items()))
