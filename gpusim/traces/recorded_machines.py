"""Which machines a recording was made for, and what another one gets of it.

A program tells all that any machine may ask of it; a trace and a compiled kernel tell what one does
(`Asked`), as what a warp waits for depends on latencies.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from gpusim.core.warp_program import (
    ARITHMETIC_OPS,
    MEMORY_OPS,
    SCOREBOARD_OPS,
    SIDE_OPS,
    UNIT_BITS,
    Asked,
    LaneChunk,
    Op,
    Unit,
    arithmetic_cost,
)
from gpusim.traces.unread import Unread
from gpusim.traces.warp_width import LoadHistory, with_waits
from gpusim.traces.warps import WAITED_FOR

ANY_MACHINE = Asked(frozenset({*SCOREBOARD_OPS, Op.ARITHMETIC}))
"""What is asked of a program, so that its recording runs like it on every machine."""

MOST_CYCLES = 1 << 20
"""Largest latency and interval of a unit (our choice)."""

ASKED_FOR = frozenset({*SCOREBOARD_OPS, *ARITHMETIC_OPS, *SIDE_OPS.values(), Op.ARITHMETIC})
"""Operations of which recordings have only those that their programs were asked for."""

_ACCESSES = sorted(MEMORY_OPS | set(SIDE_OPS.values()))
_LEFT_OUT = (Op.UNITS, Op.DELAY, Op.FETCH)
_INSTEAD = {
    Op.SHARED_LOAD: Op.SHARED,
    Op.SHARED_STORE: Op.SHARED,
    Op.READ_ONLY: Op.LOAD,
    Op.SCALAR: Op.COMPUTE,
    Op.CONSTANT: Op.COMPUTE,
}
"""What a machine gets that does not ask for these."""

_NO_SIDES = "accesses to side caches, which it was not recorded with (--model)"
_NO_UNITS = "units of arithmetic, which it was not recorded with (--model): all take issue cycles"
_NO_LOADS = "waited for at once, as it was recorded without telling loads from stores (--model)"
_OTHER_UNITS = "units of arithmetic as of the machine that it was recorded for"
_OTHER_WAITS = "recorded for a machine that tells them apart, with its waits"


def written_machines(made_for: Sequence[Asked]) -> str:
    """By application, what it was asked for, for the attribute `machines`."""
    return json.dumps(
        [
            {
                "kinds": [Op(kind).name for kind in sorted(one.kinds)],
                "latency": one.latency,
                "interval": one.interval,
            }
            for one in made_for
        ]
    )


def read_machines(values: object, applications: int) -> list[Asked]:
    """What `written_machines` has written, as parsed.

    Raises:
        ValueError: says what is wrong.
    """
    if not isinstance(values, list) or len(values) != applications:
        raise ValueError(f"attribute machines must be a list of {applications}, by application")
    return [_read(number, value) for number, value in enumerate(values)]


def _read(number: int, value: object) -> Asked:
    if not isinstance(value, dict) or value.keys() != {"kinds", "latency", "interval"}:
        raise ValueError(f"machine {number} must have kinds, latency and interval")
    known = {op.name: int(op) for op in sorted(ASKED_FOR)}
    names, latency, interval = value["kinds"], value["latency"], value["interval"]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"machine {number}: kinds must be names of operations")
    for name in names:
        if name not in known:
            raise ValueError(f"machine {number}: kind {name!r}; allowed: {', '.join(known)}")
    kinds = frozenset(known[name] for name in names)
    units = len(Unit) if kinds & ARITHMETIC_OPS else 0
    for what, column in (("latency", latency), ("interval", interval)):
        if not isinstance(column, list) or len(column) != units:
            raise ValueError(f"machine {number}: {what} must be a list of {units}, by unit")
        for cycles in column:
            if type(cycles) is not int or not 0 <= cycles <= MOST_CYCLES:
                raise ValueError(
                    f"machine {number}: {what} {cycles!r}; allowed: 0 to {MOST_CYCLES}"
                )
    return Asked(kinds, tuple(latency), tuple(interval))


class BlockAsAsked:
    """The chunks of a block, as a machine asks for them.

    Args:
        made_for: what the block was recorded with.
        asked: by the machine, or by a recorder (`ANY_MACHINE`).
        warps: of the block.
        unread: counts what the recording does not hold.
    """

    def __init__(self, made_for: Asked, asked: Asked, warps: int, unread: Unread) -> None:
        self._asked = asked
        self._unread = unread
        self._again = Op.ARITHMETIC in asked
        self._any = Op.ARITHMETIC in made_for
        holds_all = self._again or self._any
        self._missing = [] if holds_all else _missing(made_for, asked)
        if not holds_all and not made_for.kinds >= asked.kinds & set(SIDE_OPS.values()):
            unread.note(_NO_SIDES, "blocks")
        vain = () if self._again else sorted(made_for.kinds - asked.kinds)
        self._left_out = [op for op in vain if op in _LEFT_OUT]
        self._instead = {op: _INSTEAD[Op(op)] for op in vain if op in _INSTEAD}
        waits = not self._any and not WAITED_FOR.isdisjoint(self._instead)
        self._history = LoadHistory(warps) if waits else None

    def chunk(self, chunk: LaneChunk) -> LaneChunk:
        """The next chunk of the block."""
        for op, reason in self._missing:
            if count := int(((chunk.kind == op) & (chunk.arg > 0)).sum()):
                self._unread.note(reason, Op(op).name, count)
        if self._any and not self._again:
            chunk = _with_units(chunk, self._asked)
        if self._left_out:
            chunk = _without(chunk, np.isin(chunk.kind, self._left_out))
        return self._replaced(chunk) if self._instead else chunk

    def _replaced(self, chunk: LaneChunk) -> LaneChunk:
        """A chunk without the operations that the machine does not know."""
        if self._history is not None:
            kind = chunk.kind
            loads, own = np.isin(kind, list(WAITED_FOR)), np.isin(kind, list(self._instead))
            kept = chunk.active & (loads & (~own | (kind == Op.READ_ONLY)))[:, None]
            issued = chunk.active & loads[:, None]
            chunk = with_waits(chunk, self._history.waits(chunk, issued, kept))
        kind, arg = chunk.kind.copy(), chunk.arg.copy()
        for op, other in self._instead.items():
            at = chunk.kind == op
            if self._history is not None and at.any():
                self._unread.note(_OTHER_WAITS, Op(op).name, int(at.sum()))
            kind[at] = other
            if other == Op.COMPUTE:
                arg[at] = 1
        stay = np.isin(kind[np.isin(chunk.kind, _ACCESSES)], _ACCESSES)
        return evolve(_with_accesses(chunk, stay), kind=kind, arg=arg)


def _missing(made_for: Asked, asked: Asked) -> list[tuple[int, str]]:
    """Operations that stand for what a recording does not tell, and what becomes of them."""
    found = []
    if Op.DELAY in asked and Op.DELAY not in made_for:
        found.append((int(Op.COMPUTE), _NO_UNITS))
    elif Op.DELAY in asked and (asked.latency, asked.interval) != (
        made_for.latency,
        made_for.interval,
    ):
        found.append((int(Op.COMPUTE), _OTHER_UNITS))
    if Op.SHARED_LOAD in asked and Op.SHARED_LOAD not in made_for:
        found.append((int(Op.SHARED), _NO_LOADS))
    return found


def _with_units(chunk: LaneChunk, asked: Asked) -> LaneChunk:
    """A chunk with what its arithmetic costs a machine, in place of what any machine needs."""
    rows = np.flatnonzero(chunk.kind == Op.ARITHMETIC)
    if not asked.latency or not len(rows):
        return _without(chunk, chunk.kind == Op.ARITHMETIC)
    unit, chain = chunk.arg[rows] & (1 << UNIT_BITS) - 1, chunk.arg[rows] >> UNIT_BITS
    facts = zip(unit.tolist(), chunk.arg[rows - 1].tolist(), chain.tolist(), strict=True)
    costs = [arithmetic_cost(asked, *fact) for fact in facts]
    counts = np.ones(len(chunk.kind), dtype=np.int64)
    counts[rows] = 2
    source = np.arange(len(chunk.kind)).repeat(counts)
    kind, arg = chunk.kind[source], chunk.arg[source]
    at = np.flatnonzero(kind == Op.ARITHMETIC)
    kind[at] = np.tile((Op.UNITS, Op.DELAY), len(rows))
    arg[at] = np.ravel(costs)
    some = np.ones(len(kind), dtype=bool)
    some[at] = arg[at] > 0
    return evolve(chunk, kind=kind[some], arg=arg[some], active=chunk.active[source][some])


def _without(chunk: LaneChunk, gone: NDArray[np.bool_]) -> LaneChunk:
    """A chunk without some of its rows."""
    if not gone.any():
        return chunk
    stay = ~gone[np.isin(chunk.kind, _ACCESSES)]
    left = _with_accesses(chunk, stay)
    return evolve(left, kind=left.kind[~gone], arg=left.arg[~gone], active=left.active[~gone])


def _with_accesses(chunk: LaneChunk, stay: NDArray[np.bool_]) -> LaneChunk:
    """A chunk with some of its accesses."""
    if stay.all():
        return chunk
    place = None if chunk.place is None else chunk.place[stay]
    return evolve(chunk, address=chunk.address[stay], size=chunk.size[stay], place=place)


def check_arithmetic(chunk: LaneChunk) -> None:
    """Refuse units of no arithmetic, and such that there are not.

    Raises:
        ValueError: says what is wrong.
    """
    kind, arg, active = chunk.kind, chunk.arg, chunk.active
    rows = np.flatnonzero(kind == Op.ARITHMETIC)
    if not len(rows):
        return
    before = rows - 1
    if rows[0] == 0 or (kind[before] != Op.COMPUTE).any() or (active[before] != active[rows]).any():
        raise ValueError("ARITHMETIC must stand behind the COMPUTE of the same warps")
    unit = int((arg[rows] & (1 << UNIT_BITS) - 1).max())
    if unit >= len(Unit):
        raise ValueError(f"unit {unit}; allowed: 0 to {len(Unit) - 1}")
