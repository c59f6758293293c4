"""SASS opcodes as traces of NVIDIA's tools print them: which memory they access, and how wide."""

from __future__ import annotations

from enum import Enum

from gpusim.core.errors import nearest
from gpusim.core.warp_program import Op


class Space(Enum):
    """Memory spaces of memory instructions."""

    GLOBAL = "global"
    LOCAL = "local"
    SHARED = "shared"
    GENERIC = "generic"
    """Any of the others: the address tells which."""


MEMORY_OPCODES: dict[str, tuple[Space, Op]] = {
    "LDG": (Space.GLOBAL, Op.LOAD),
    "LDGSTS": (Space.GLOBAL, Op.LOAD),
    "STG": (Space.GLOBAL, Op.STORE),
    "ATOMG": (Space.GLOBAL, Op.ATOMIC),
    "RED": (Space.GLOBAL, Op.REDUCE),
    "REDG": (Space.GLOBAL, Op.REDUCE),
    "LDL": (Space.LOCAL, Op.LOAD),
    "STL": (Space.LOCAL, Op.STORE),
    "LDS": (Space.SHARED, Op.LOAD),
    "LDSM": (Space.SHARED, Op.LOAD),
    "STS": (Space.SHARED, Op.STORE),
    "STSM": (Space.SHARED, Op.STORE),
    "ATOMS": (Space.SHARED, Op.ATOMIC),
    "LD": (Space.GENERIC, Op.LOAD),
    "ST": (Space.GENERIC, Op.STORE),
    "ATOM": (Space.GENERIC, Op.ATOMIC),
}
"""Base opcodes of instructions that move data; an LDGSTS counts for the load that it begins with.

Constants come from a memory of their own (LDC), and cache control moves no data (CCTL).
"""

NO_DATA = frozenset({"CCTL", "CCTLL", "CCTLT", "LDC", "PREFETCH"})
"""Base opcodes that may come with an address, but move no data of these spaces."""

ASYNCHRONOUS = frozenset(
    {
        "UTMALDG",
        "UTMASTG",
        "UTMAREDG",
        "UTMAPF",
        "UBLKCP",
        "UBLKPF",
        "UBLKRED",
        "SYNCS",
        "ARRIVES",
        "REPLAY_START",
        "REPLAY_END",
    }
)
"""Base opcodes of Hopper's copies in bulk, of the barriers that tell of their end, and of the loops
that wait at these, which tracers mark: without such waits, a program would be another one."""


def moves_data(base: str) -> bool:
    """Whether an instruction that comes with an address accesses memory.

    Raises:
        ValueError: its base opcode is not known.
    """
    if base in MEMORY_OPCODES:
        return True
    if base in NO_DATA:
        return False
    raise ValueError(
        f"opcode {base} comes with an address but is not known as a memory instruction"
        f"{nearest(base, MEMORY_OPCODES)}; known: {', '.join(sorted({*MEMORY_OPCODES, *NO_DATA}))}"
    )


def base_opcode(opcode: str) -> str:
    """``"LDG"`` of ``"LDG.E.128.SYS"``."""
    return opcode.partition(".")[0]


def access_bytes(opcode: str) -> int:
    """Bytes that a lane accesses: of the first modifier that is a number of bits, or ``U`` and one.

    All others access 4 bytes, as Accel-Sim's reader takes them.
    """
    for modifier in opcode.split(".")[1:]:
        digits = modifier.removeprefix("U")
        if digits.isdecimal():
            return max(int(digits) // 8, 1)
    return 4


def is_read_only(opcode: str) -> bool:
    """Whether a load goes through the read-only cache, where there is one."""
    return not {"CI", "CONSTANT"}.isdisjoint(opcode.split(".")[1:])
