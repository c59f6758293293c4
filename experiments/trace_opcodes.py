"""What gpusim reads of traces: opcodes and header lines, as the tables in the code have them.

``gpusim study trace-opcodes`` prints the tables; with ``--doc`` it writes them into the page
docs/traces.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from experiments.marked import tell
from gpusim.core.warp_program import Op
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

MACSIM = (
    "**MacSim's records** give opcodes by number (`gpusim/traces/macsim_records.py`), read as "
    "those of the same names; but of textures and surfaces all except PTX's 144 are counted, and "
    "`LDC` goes to a constant cache where there is one."
)

_MODIFIERS = {
    "`….STRONG.GPU`, `.STRONG.SYS`, `.MMIO`, `LDGSTS….BYPASS`": "modelled: L1 is passed by",
    "`CCTL.IVALL`": "modelled: the L1 cache of the SM is emptied",
    "`.EF`, `.EL`, `.EU`, `.EN`, `.LU`, `.NA`, `.EFL2`, `.ELL2`, `.ENL2`, `.RML2`": EVICTION_HINTS,
    "`.LTC64B`, `.LTC128B`, `.LTC256B`": L2_PREFETCH,
    "`BAR.ARV`, `BAR` with the number of a barrier or of threads": NAMED_BARRIERS,
    "a width that differs from that of the line": WIDTHS,
    "any opcode that is in none of these lists, without an address": UNKNOWN,
}


def tables() -> str:
    """The generated part of the page."""
    parts = [
        "**Modelled**, where the trace has addresses:",
        _list(_modelled()),
        "**Counted**, with their number in the result's warning:",
        _list(_counted()),
        f"**Arithmetic**: {len(ARITHMETIC)} others (`ARITHMETIC` in `{UNMODELLED_FILE}`).",
        "**Refused**: opcodes with addresses that are neither modelled nor counted (but `QSPC`).",
        MACSIM,
        f"**Lines of a kernel's header** that are known: {_names(KEYS)}; others are counted.",
        "**Memory traces, a line an access**:",
        _list([f.name, f.allowed] for f in FORMATS),
    ]
    return "\n\n".join(parts)


def _list(rows: Iterable[Sequence[str]]) -> str:
    """A list in Markdown: what, and what becomes of it."""
    return "\n".join(f"- {what}: {becomes}" for what, becomes in rows)


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
