"""Machines of which tests replace methods in single objects, also where gpusim is compiled."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import gpusim.machine.auxiliary_caches
import gpusim.machine.machine
import gpusim.machine.memory_system
from gpusim.machine import Machine

_OPENED = (
    (gpusim.machine.memory_system, "L2Bank"),
    (gpusim.machine.memory_system, "TranslatedMisses"),
    (gpusim.machine.machine, "L1Cache"),
    (gpusim.machine.auxiliary_caches, "L1Cache"),
)


def opened_machine(*args: Any) -> Machine:
    """A machine whose caches are of subclasses in Python.

    Compiled code calls what stands in such an object; in one of its own classes nothing can.
    """
    with ExitStack() as patches:
        for module, name in _OPENED:
            subclass = type(name, (getattr(module, name),), {})
            patches.enter_context(patch.object(module, name, subclass))
        return Machine(*args)
