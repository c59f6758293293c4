"""SASS opcodes as traces of NVIDIA's tools print them: which memory they access, and how wide."""

from __future__ import annotations

from enum import Enum

from gpusim.core.errors import few, nearest
from gpusim.core.untrusted import brief
from gpusim.core.warp_program import Op
from gpusim.traces.sass_unmodelled import UNMODELLED

REGISTER_BYTES = 4
"""Bytes of a register of a lane."""

MOST_LANE_BYTES = 32
"""Bytes that a lane accesses at most: 256 bits, of Blackwell."""


class Space(Enum):
    """Memory spaces of memory instructions."""

    GLOBAL = "global"
    LOCAL = "local"
    SHARED = "shared"
    GENERIC = "generic"
    """Any of the others: the address tells which."""


MEMORY_OPCODES: dict[str, tuple[Space, Op]] = {
    "LDG": (Space.GLOBAL, Op.LOAD),
    "LDGMC": (Space.GLOBAL, Op.LOAD),
    "LDGSTS": (Space.GLOBAL, Op.LOAD),
    "STG": (Space.GLOBAL, Op.STORE),
    "STGMC": (Space.GLOBAL, Op.STORE),
    "USTGR": (Space.GLOBAL, Op.STORE),
    "ATOMG": (Space.GLOBAL, Op.ATOMIC),
    "RED": (Space.GLOBAL, Op.REDUCE),
    "REDG": (Space.GLOBAL, Op.REDUCE),
    "REDGMC": (Space.GLOBAL, Op.REDUCE),
    "UREDGR": (Space.GLOBAL, Op.REDUCE),
    "TEX": (Space.GLOBAL, Op.LOAD),
    "TEXS": (Space.GLOBAL, Op.LOAD),
    "TLD": (Space.GLOBAL, Op.LOAD),
    "TLDS": (Space.GLOBAL, Op.LOAD),
    "TLD4": (Space.GLOBAL, Op.LOAD),
    "TLD4S": (Space.GLOBAL, Op.LOAD),
    "TXD": (Space.GLOBAL, Op.LOAD),
    "SULD": (Space.GLOBAL, Op.LOAD),
    "SULDGA": (Space.GLOBAL, Op.LOAD),
    "SUST": (Space.GLOBAL, Op.STORE),
    "SUSTGA": (Space.GLOBAL, Op.STORE),
    "SUATOM": (Space.GLOBAL, Op.ATOMIC),
    "SURED": (Space.GLOBAL, Op.REDUCE),
    "LDL": (Space.LOCAL, Op.LOAD),
    "STL": (Space.LOCAL, Op.STORE),
    "LDS": (Space.SHARED, Op.LOAD),
    "LDSLK": (Space.SHARED, Op.LOAD),
    "LDSM": (Space.SHARED, Op.LOAD),
    "STS": (Space.SHARED, Op.STORE),
    "STSCUL": (Space.SHARED, Op.STORE),
    "STSM": (Space.SHARED, Op.STORE),
    "ATOMS": (Space.SHARED, Op.ATOMIC),
    "SYNCS": (Space.SHARED, Op.ATOMIC),
    "ARRIVES": (Space.SHARED, Op.ATOMIC),
    "LD": (Space.GENERIC, Op.LOAD),
    "ST": (Space.GENERIC, Op.STORE),
    "ATOM": (Space.GENERIC, Op.ATOMIC),
}
"""Base opcodes of instructions that move data, if the trace has their addresses.

An LDGSTS counts for the load that it begins with.  Constants come from a memory of their own (LDC),
and cache control moves no data (CCTL).
"""

BULK_OPCODES: dict[str, Op] = {
    "UTMALDG": Op.LOAD,
    "UBLKCP": Op.LOAD,
    "UTMASTG": Op.STORE,
    "UTMAREDG": Op.REDUCE,
    "UBLKRED": Op.REDUCE,
    "UTMAPF": Op.COMPUTE,
    "UBLKPF": Op.COMPUTE,
}
"""Base opcodes of Hopper's copies in bulk, and what they do in global memory; prefetches: nothing.

A UBLKCP from shared to global memory (``.G.S``) stores, see `bulk_op`.
"""

LOOP_MARKS = frozenset({"REPLAY_START", "REPLAY_END"})
"""Lines with which tracers mark loops that wait for a copy in bulk; they are no instructions."""

NO_DATA = frozenset({"QSPC", *UNMODELLED}).difference(MEMORY_OPCODES, BULK_OPCODES)
"""Base opcodes that may come with an address, but move no data of these spaces."""

_MATRICES = frozenset({"LDSM", "STSM"})
"""Opcodes whose number of bits is that of a matrix's element."""


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
        f"{nearest(base, MEMORY_OPCODES)}; known: {few(sorted({*MEMORY_OPCODES, *NO_DATA}), base)}"
    )


def base_opcode(opcode: str) -> str:
    """``"LDG"`` of ``"LDG.E.128.SYS"``."""
    return opcode.partition(".")[0]


def bulk_op(opcode: str) -> Op:
    """What a copy in bulk does in global memory; COMPUTE: nothing that is modelled."""
    base, *modifiers = opcode.split(".")
    if base == "UBLKCP" and modifiers[:2] == ["G", "S"]:
        return Op.STORE
    if base == "UBLKCP" and modifiers[:2] == ["S", "S"]:
        return Op.COMPUTE
    return BULK_OPCODES[base]


def stated_bytes(opcode: str) -> int:
    """Bytes of the first modifier that is a number of bits, plain or behind ``U``; 0: none."""
    for modifier in opcode.split(".")[1:]:
        digits = modifier.removeprefix("U")
        if digits.isdecimal():
            return max(int(digits) // 8, 1)
    return 0


def signed_bytes(opcode: str) -> int:
    """Bytes of a modifier ``S8`` or ``S16``; 0: there is none."""
    modifiers = opcode.split(".")[1:]
    return 1 if "S8" in modifiers else 2 if "S16" in modifiers else 0


def access_bytes(opcode: str, field: int = 0) -> int:
    """Bytes that a lane accesses.

    A plain or unsigned number of bits in the opcode decides: tools are known to report another
    width at times, and Accel-Sim's reader takes it from there, too.  Else the trace's own field
    does, then ``S8`` or ``S16``, then 4 bytes.

    Args:
        opcode: with its modifiers.
        field: the trace's own field; 0: it has none.

    Raises:
        ValueError: it is the width of no access.
    """
    stated = stated_bytes(opcode)
    if not stated and field & field - 1:
        raise ValueError(f"a lane accesses {field} bytes; must be a power of two")
    size = stated or field or signed_bytes(opcode) or 4
    if size > MOST_LANE_BYTES and base_opcode(opcode) not in BULK_OPCODES:
        raise ValueError(f"a lane accesses {brief(size)} bytes; at most {MOST_LANE_BYTES}")
    return size


def width_conflict(opcode: str, field: int) -> bool:
    """Whether the opcode and the trace's own field (0: it has none) state different widths."""
    stated = stated_bytes(opcode) or signed_bytes(opcode)
    return bool(stated and field) and stated != field and base_opcode(opcode) not in _MATRICES


def matrices(opcode: str) -> int:
    """Matrices that an LDSM or STSM moves, 1, 2 or 4 (PTX: ldmatrix); 0 of other opcodes."""
    base, *modifiers = opcode.split(".")
    if base not in {"LDSM", "STSM"}:
        return 0
    return int(modifiers[-1]) if modifiers and modifiers[-1] in {"2", "4"} else 1


def is_read_only(opcode: str) -> bool:
    """Whether a load goes through the read-only cache, where there is one."""
    return not {"CI", "CONSTANT"}.isdisjoint(opcode.split(".")[1:])
