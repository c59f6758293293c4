"""Checks of the list of stages of translation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gpusim.config.schema import WALK_STAGE, GpuConfig
from gpusim.config.translation import FBT_LEVEL, SCOPES
from gpusim.core.errors import nearest
from gpusim.files.structure import Problem

_KEY = ("stages",)


def check_stages(config: GpuConfig) -> Iterator[Problem]:
    """Stages that are unknown, missing, twice there, or in an order that cannot be."""
    yield from _check_tables(config)
    names = config.stage_names
    known = (*config.tlb, *config.stage, WALK_STAGE)
    for name in dict.fromkeys(names):
        if name not in known:
            yield Problem(
                _KEY,
                f"there is no stage {name!r}{nearest(name, known)}; allowed: {', '.join(known)}",
            )
        elif names.count(name) > 1:
            yield Problem(_KEY, f"{name!r} is there twice")
    for table, tables in (("tlb", config.tlb), ("stage", config.stage)):
        for name in tables:
            if name not in names:
                yield Problem((table, name), f"of no effect: it is not in stages, {_list(names)}")
    yield from _check_order(config, names)


def _check_tables(config: GpuConfig) -> Iterator[Problem]:
    taken = (*config.tlb, WALK_STAGE, FBT_LEVEL)
    for name, stage in config.stage.items():
        key = ("stage", name)
        yield from check_name(name, key)
        if name in taken:
            yield Problem(key, f"is a name that is taken; taken: {', '.join(taken)}")
        if stage.queue < 1:
            yield Problem((*key, "queue"), "must be 1 or more")


def check_name(name: str, key: tuple[str, ...]) -> Iterator[Problem]:
    """Names of tables stand as they are in models, results and the keys of ``--set``."""
    if not re.fullmatch(r"[\w-]+", name, re.ASCII):
        yield Problem(key, f"{name!r}: a name is made of a-z, A-Z, 0-9, _ and -")


def _check_order(config: GpuConfig, names: Sequence[str]) -> Iterator[Problem]:
    if names[-1] != WALK_STAGE:
        yield Problem(_KEY, f"must end with {WALK_STAGE!r}: what is left over has to be walked")
    if config.tlb and names[0] not in config.tlb:
        yield Problem(
            _KEY,
            "must begin with a TLB level, which the load/store units ask; allowed: "
            f"{', '.join(config.tlb)}",
        )
    levels = [name for name in names if name in config.tlb]
    if levels != [name for name in config.tlb if name in names]:
        yield Problem(
            _KEY, f"must have the TLB levels in the order of their tables: {_list([*config.tlb])}"
        )
    widest, outer = 0, ""
    for name in names:
        table = config.stage.get(name) or config.tlb.get(name)
        if table is None or table.scope not in SCOPES:
            continue
        scope = SCOPES.index(table.scope)
        if scope < widest and name in config.stage:
            yield Problem(
                ("stage", name, "scope"),
                f"must be at least as wide as that of {outer} before it: "
                f"{', '.join(SCOPES[widest:])}",
            )
        elif scope < widest and outer in config.stage:
            yield Problem(
                ("stage", outer, "scope"),
                f"must be at most as wide as that of {name} behind it: "
                f"{', '.join(SCOPES[: scope + 1])}",
            )
        if scope >= widest:
            widest, outer = scope, name


def _list(names: Sequence[str]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"
