"""Small machines with each naming of L1 lines, and all choices of an L1 cache together."""

from __future__ import annotations

from itertools import product
from typing import Any

import attrs

from gpusim.config.schema import GpuConfig
from gpusim.config.translation import RemappingConfig
from gpusim.files.units import cycles
from tests.hardware.fbt.virtual_machines import FBT, VIRTUAL
from tests.machine.bench import SMALL, change

WRITES = ("update", "allocate", "evict")
ALLOCATE = ("on-fill", "on-miss")
NAMES = ("before", "parallel", "after", "after-l2", "remapped")
"""`l1.translation`; "remapped": "after-l2" with `fbt.remapping`."""

CHOICES = list(product(WRITES, ALLOCATE, NAMES))


def named(naming: str, **l1: Any) -> GpuConfig:
    """A small machine whose L1 lines are named so, with further keys of its L1 cache."""
    if naming == "remapped":
        fbt = attrs.evolve(FBT, remapping=RemappingConfig(8, cycles(1)))
        return attrs.evolve(change(VIRTUAL, l1=l1), fbt=fbt)
    if naming == "after-l2":
        return change(VIRTUAL, l1=l1)
    return change(SMALL, l1={"translation": naming, **l1})
