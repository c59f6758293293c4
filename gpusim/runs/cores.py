"""Runs of machines whose two sides of the crossbar have loops of their own, on one core or two."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Final

from gpusim.config.schema import GpuConfig
from gpusim.core.errors import UserError
from gpusim.machine import Machine
from gpusim.runs.acts import own_acts
from gpusim.runs.launch_numbers import LaunchNumbers
from gpusim.runs.monitor import in_memory_side
from gpusim.runs.options import RunOptions
from gpusim.runs.warnings import warnings_of_memory

_MOST: Final = 2

_OF_BOTH: Final = ("tlb_misses", "lifetimes", "blame")
"""Records that look at both sides at once."""

_OF_MEMORY: Final = ("walks", "walk_reads", "dram")
"""Records of the memory side."""


def check_options(config: GpuConfig, options: RunOptions) -> None:
    """Refuse options that do not go with the order of a machine's events, or with two cores.

    Raises:
        UserError: one does not.
    """
    if config.crossbar.order is None:
        return
    why = "crossbar.order = 'memory-first', whose two sides are not in the same cycle"
    if options.events is not None:
        raise UserError(f"--events {options.events}: not with {why}")
    _refuse_records(options, _OF_BOTH, why)
    if _apart(config, options):
        if options.cores > _MOST:
            raise UserError(f"--cores {options.cores}: the machine has two sides: at most {_MOST}")
        _refuse_records(options, _OF_MEMORY, "--cores 2: the memory side is in another process")


def _apart(config: GpuConfig, options: RunOptions) -> bool:
    """Whether the memory side runs in a process of its own; of a sample, parts take the cores."""
    return config.crossbar.order is not None and options.cores > 1 and not options.sample


def _refuse_records(options: RunOptions, names: Collection[str], why: str) -> None:
    for name in options.record:
        if name in names:
            raise UserError(f"--record {name}: not with {why}")


def on_cores(
    machine: Machine, options: RunOptions, numbers: LaunchNumbers, own_modules: Collection[str]
) -> AbstractContextManager[object]:
    """The context of a run of a machine on as many cores as its options say.

    Args:
        machine: before its first cycle.
        options: of the run.
        numbers: read the machine while it runs.
        own_modules: names of the modules that are the user's.

    Raises:
        UserError: two cores need another computer.
    """
    if not _apart(machine.config, options):
        return nullcontext()
    from gpusim.machine.sides.process import MemoryProcess

    readers: dict[str, Callable[..., object]] = {
        "launches": numbers.read,
        "monitor": partial(in_memory_side, machine),
        "acts": partial(own_acts, machine),
        "warnings": partial(warnings_of_memory, machine),
    }
    return MemoryProcess(machine, readers, own_modules)
