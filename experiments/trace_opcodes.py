"""What gpusim reads of traces: opcodes and header lines, as the tables in the code have them.

``gpusim study trace-opcodes`` prints the tables; with ``--doc`` it writes them into the page
docs/traces.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from experiments.marked import tell
from gpusim.core.warp_program import Op
from gpusim.traces.macsim_records import NVBIT, PTX, Kind
from gpusim.traces.memory_lines import FORMATS
from gpusim.traces.sass import BULK_OPCODES, MEMORY_OPCODES
from gpusim.traces.sass_unmodelled import (
    ARITHMETIC,
    EVICTION_HINTS,
    L2_PREFETCH,
    NAMED_BARRIERS,
    NO_ADDRESSES,
    UNKNOWN,
    UNMODELLED,
    WIDTHS,
)
from gpusim.traces.traceg_header import KEYS

MAINTENANCE = True
"""A study of gpusim itself: ``gpusim list maintenance`` has it."""

PART = "what-is-read"
"""Name of the generated part of the page."""

UNMODELLED_FILE = "gpusim/traces/sass_unmodelled.py"

_MODIFIERS = {
    "`….STRONG.GPU`, `.STRONG.SYS`, `.MMIO`, `LDGSTS….BYPASS`": "modelled: L1 is passed by",
    "`CCTL.IVALL`": "modelled: the L1 cache of the SM is emptied",
    "`.EF`, `.EL`, `.EU`, `.EN`, `.LU`, `.NA`, `.EFL2`, `.ELL2`, `.ENL2`, `.RML2`": EVICTION_HINTS,
    "`.LTC64B`, `.LTC128B`, `.LTC256B`": L2_PREFETCH,
    "`BAR.ARV`, `BAR` with the number of a barrier or of threads": NAMED_BARRIERS,
    "a width that differs from that of the line": WIDTHS,
    "any opcode that is in none of these tables, without an address": UNKNOWN,
}


def tables() -> str:
    """The generated part of the page."""
    macsim = [_macsim("nvbit", NVBIT), _macsim("newptx", PTX)]
    parts = [
        "**Modelled**, where the trace has addresses:",
        _table(["opcodes", "become"], _modelled()),
        "**Counted**, with their number in the result's warning:",
        _table(["opcodes and modifiers", "named as"], _counted()),
        f"**Arithmetic**: {len(ARITHMETIC)} others (`ARITHMETIC` in `{UNMODELLED_FILE}`).",
        "**Refused**: opcodes with addresses that are neither modelled nor counted (but `QSPC`).",
        "**Numbers of opcodes in MacSim's records** that are more than arithmetic:",
        _table(["kind", "modelled", "counted"], macsim),
        f"**Lines of a kernel's header** that are known: {_names(KEYS)}; others are counted.",
        "**Memory traces, a line an access**:",
        _table(["format", "a line", "time"], [[f.name, f.allowed, f.time] for f in FORMATS]),
    ]
    return "\n\n".join(parts)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown, texts to the left."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _modelled() -> Iterator[Sequence[str]]:
    groups: dict[str, list[str]] = {}
    for base, (space, op) in MEMORY_OPCODES.items():
        what = "the passes of bank conflicts" if space.value == "shared" else op.name
        groups.setdefault(f"{what}, {space.value} memory", []).append(base)
    for base, op in BULK_OPCODES.items():
        if op != Op.COMPUTE:
            groups.setdefault(f"{op.name} of all pieces, global memory", []).append(base)
    for become, bases in groups.items():
        yield [_names(bases), become]
    yield ["`BAR`", "a barrier of the block"]
    yield ["`LDGDEPBAR`, `DEPBAR`", "a group of copies ends; a warp waits for groups"]
    yield ["`SYNCS….PHASECHK`, `ARRIVES`", "a warp waits for its own copies; they report"]


def _counted() -> Iterator[Sequence[str]]:
    reasons: dict[str, list[str]] = {}
    for base, reason in UNMODELLED.items():
        reasons.setdefault(reason, []).append(base)
    for reason, bases in reasons.items():
        without = "those that access memory, without an address"
        yield [without if reason == NO_ADDRESSES else _names(bases), reason]
    for what, reason in _MODIFIERS.items():
        yield [what, reason]


def _macsim(name: str, kind: Kind) -> Sequence[str]:
    return [f"`{name}`", _numbers(kind.opcodes), _numbers(kind.unmodelled)]


def _numbers(opcodes: Mapping[int, str]) -> str:
    names: dict[str, list[int]] = {}
    for number, name in sorted(opcodes.items()):
        names.setdefault(name, []).append(number)
    return "; ".join(f"{', '.join(map(str, of))} `{name}`" for name, of in names.items())


def _names(names: Sequence[str] | frozenset[str]) -> str:
    ordered = sorted(names) if isinstance(names, frozenset) else names
    return ", ".join(f"`{name}`" for name in ordered)


def main() -> None:
    """Print the tables, or write them into a page."""
    parser = argparse.ArgumentParser(description="What gpusim reads of traces.")
    parser.add_argument("--doc", type=Path, help="page whose tables are replaced")
    tell(parser.parse_args().doc, PART, tables())


if __name__ == "__main__":
    main()
