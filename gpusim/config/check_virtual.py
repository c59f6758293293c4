"""Checks of a machine with a virtual L2 cache."""

from __future__ import annotations

import json
from collections.abc import Iterator

from gpusim.config.schema import GpuConfig
from gpusim.config.translation import FBT_LEVEL, SLICES, FbtConfig
from gpusim.files.structure import Problem

AFTER_L2 = "after-l2"
SHARED = ("gpu", "instance", SLICES)
"""Scopes of TLBs that belong to no SM."""


def check_virtual_l2(config: GpuConfig) -> Iterator[Problem]:
    """A virtual L2 cache and its forward–backward table need each other, and shared TLBs."""
    fbt = config.fbt
    virtual = config.l1.translation == AFTER_L2
    if fbt is None:
        if virtual:
            yield Problem(
                ("fbt",), f'is missing: l1.translation = "{AFTER_L2}" needs a table [fbt]'
            )
        return
    yield from _check_table(fbt)
    if not virtual:
        yield Problem(
            ("l1", "translation"),
            f'must be "{AFTER_L2}": with physical L2 caches, the table [fbt] is of no effect',
        )
    for name, tlb in config.tlb.items():
        if tlb.scope not in SHARED:
            yield Problem(
                ("tlb", name, "scope"),
                f"must be {' or '.join(map(json.dumps, SHARED))}: misses of a virtual L2 cache "
                f'belong to no SM; a level of the SMs is taken away with tlb.{name} = "none"',
            )
        if name == FBT_LEVEL:
            yield Problem(("tlb", name), "is the name of the forward table; choose another one")
    yield from _check_caches(config)


def _check_caches(config: GpuConfig) -> Iterator[Problem]:
    if config.l2.copies is not None:
        yield Problem(
            ("l2", "copies"), "must be none: the table [fbt] knows one place of each line"
        )
    if config.walk.sent_by == "sms":
        yield Problem(
            ("walk", "sent_by"),
            'must be "walkers": in a virtual L2 cache data wait for walks, whose reads would wait '
            "behind them in the crossbar",
        )
    if config.l2.bypass.policy != "never" and not config.walk.reads("l2"):
        yield Problem(
            ("l2", "bypass"), 'must be "never": no page walk reads the L2 cache (walk.memory)'
        )
    lines = config.memory.page // max(config.l2.line, 1)
    if config.l2.banks > lines:
        yield Problem(
            ("l2", "banks"),
            f"must be at most the {lines} lines of a page: the names of a line agree in nothing "
            "else, and have to meet in one bank",
        )


def _check_table(fbt: FbtConfig) -> Iterator[Problem]:
    if fbt.remapping is not None and fbt.remapping.entries < 1:
        yield Problem(("fbt", "remapping", "entries"), "must be 1 or more")
    sets, rest = divmod(fbt.entries, max(fbt.ways, 1))
    if fbt.ways < 1 or sets < 1 or rest or sets & (sets - 1):
        yield Problem(
            ("fbt", "entries"),
            f"{fbt.entries} entries in {fbt.ways} ways: sets must be a power of two",
        )
