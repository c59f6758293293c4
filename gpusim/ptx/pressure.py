"""How many registers a thread needs: estimated from the values that are alive at once."""

from __future__ import annotations

from gpusim.ptx.flow import Block
from gpusim.ptx.uses import read, written

_LEAST, _MOST, _STEP = 16, 255, 8
"""An assembler gives registers in steps, to no thread more than 255 (CUDA programming guide)."""


def estimated_registers(flow: list[Block], types: dict[str, str]) -> int:
    """The most 32-bit registers that are alive at once, rounded up as an assembler would.

    Predicates have registers of their own.  An assembler that orders instructions anew needs more,
    or fewer: an estimate, where no compiled code says the number.
    """
    alive: list[set[str]] = [set() for _ in flow]
    changed = True
    while changed:
        changed = False
        for place in range(len(flow) - 1, -1, -1):
            now = set().union(*(alive[one] for one in flow[place].next))
            for one in reversed(flow[place].instructions):
                if one.guard is None:
                    now.difference_update(written(one))
                now.update(read(one))
            if now != alive[place]:
                alive[place], changed = now, True
    most = 0
    for block in flow:
        now = set().union(*(alive[one] for one in block.next))
        for one in reversed(block.instructions):
            most = max(most, _words(now, types))
            if one.guard is None:
                now.difference_update(written(one))
            now.update(read(one))
        most = max(most, _words(now, types))
    return min(max(-(-(most + 2) // _STEP) * _STEP, _LEAST), _MOST)


def _words(names: set[str], types: dict[str, str]) -> int:
    """32-bit registers of these."""
    wide = {"b64": 2, "u64": 2, "s64": 2, "f64": 2, "b128": 4, "pred": 0}
    return sum(wide.get(types.get(name, "pred"), 1) for name in names)
