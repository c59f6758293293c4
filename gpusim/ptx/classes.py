"""What instructions count as: the unit that executes them, and how many they are."""

from __future__ import annotations

from gpusim.core.warp_program import Unit
from gpusim.ptx.syntax import Instruction

_FREE = {
    "mov", "cvta", "ret", "exit", "griddepcontrol", "setmaxnreg", "pmevent", "applypriority",
    "discard", "createpolicy",
}  # fmt: skip
"""Opcodes that count as nothing: moves and address spaces mostly vanish in the machine's code."""

_CONTROL = {"bra", "brx", "bar", "barrier", "membar", "fence", "nanosleep", "trap", "brkpt"}
_SPECIAL = {
    "rcp",
    "sqrt",
    "rsqrt",
    "ex2",
    "lg2",
    "sin",
    "cos",
    "tanh",
    "cvt",
    "popc",
    "brev",
    "bfind",
    "clz",
}
_TENSOR = {"mma", "wmma.mma", "wgmma", "tcgen05"}
_PRODUCTS = {"mul", "mad", "mul24", "mad24", "madc"}

MEMORY = {
    "ld", "ldu", "st", "atom", "red", "cp", "ldmatrix", "stmatrix", "wmma.load",
    "wmma.store", "mbarrier", "prefetch",
    "prefetchu",
}  # fmt: skip

UNCOMPUTED = {
    "wgmma", "tcgen05", "tex", "tld4", "txq", "suld", "sust", "sured", "suq",
    "movmatrix", "multimem", "mapa", "getctarank", "createpolicy", "istypep", "alloca",
    "stacksave", "stackrestore", "clusterlaunchcontrol", "tensormap", "vadd", "vsub", "vabsdiff",
    "vmin", "vmax", "vshl", "vshr", "vmad", "vset",
}  # fmt: skip
"""Opcodes of PTX whose results are not computed."""

HANDLED = {
    *_CONTROL, *_FREE, *MEMORY, "shfl", "vote", "match", "redux", "activemask", "elect", "isspacep",
    "lop3", "selp", "mma", "wmma.mma",
}  # fmt: skip
"""Opcodes that are carried out beside those that compute."""


def count_of(one: Instruction) -> int:
    """Instructions that it counts as."""
    if one.opcode in _FREE or (one.opcode in {"ld", "st"} and one.has("param")):
        return 0
    return 1


def unit_of(one: Instruction) -> Unit | None:
    """The functional unit that executes it; None: only its issue cycle counts.

    Products of integers go with FP32, as on Volta and later (`gpusim.traces.arithmetic`).
    """
    if one.opcode in _TENSOR:
        return Unit.TENSOR
    if one.opcode in _CONTROL or one.opcode in MEMORY:
        return None
    if "f64" in one.modifiers:
        return Unit.FP64
    if one.opcode in _SPECIAL:
        return Unit.SPECIAL
    type_ = one.modifiers[-1] if one.modifiers else ""
    if type_.startswith(("f", "bf")) or one.opcode in _PRODUCTS:
        return Unit.FP32
    return Unit.INTEGER
