"""Numbers of 8 and 16 bits side by side in one register (PTX's SIMD video instructions)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gpusim.ptx.arithmetic.comparisons import comparison
from gpusim.ptx.operations import Operation, computes
from gpusim.ptx.syntax import Instruction, Register
from gpusim.ptx.values import UnsupportedError, Value

_RUNS: dict[str, Callable[[Value, Value], Value]] = {
    "vadd": np.add,
    "vsub": np.subtract,
    "vabsdiff": lambda a, b: np.abs(a - b),
    "vavrg": lambda a, b: (a + b + 1) >> 1,
    "vmin": np.minimum,
    "vmax": np.maximum,
}
_NAMES = tuple(f"{name}{lanes}" for name in (*_RUNS, "vset") for lanes in (2, 4))


@computes(*_NAMES)
def of_lanes(instruction: Instruction) -> Operation:
    """The same for each of two or four numbers, side by side, or added up (``.add``)."""
    name, lanes = instruction.opcode[:-1], int(instruction.opcode[-1])
    types = [one for one in instruction.modifiers if one in {"u32", "s32"}]
    made = "u32" if name == "vset" else types[0]
    of = types[-2:]
    if any(isinstance(one, Register) and "." in one.name for one in instruction.operands):
        raise UnsupportedError("chosen parts of registers are not computed")
    if name == "vavrg" and "s32" in of:
        raise UnsupportedError("averages of signed numbers are not computed")
    compares = comparison(instruction.modifiers[-1], "s32") if name == "vset" else None
    run = _RUNS.get(name)
    adds, cuts = instruction.has("add"), instruction.has("sat")
    bits = 32 // lanes
    low, high = (0, (1 << bits) - 1) if made == "u32" else (-(1 << bits - 1), (1 << bits - 1) - 1)

    def lane(value: Value, number: int, type_: str) -> Value:
        up = value.astype(np.uint32) << np.uint32(32 - bits * (number + 1))
        if type_ == "s32":
            return (up.view(np.int32) >> np.int32(32 - bits)).astype(np.int64)
        return (up >> np.uint32(32 - bits)).astype(np.int64)

    def all_lanes(a: Value, b: Value, c: Value) -> Value:
        total: Value = np.asarray(c.astype(np.int64) if adds else np.zeros_like(a, np.int64))
        for number in range(lanes):
            x, y = lane(a, number, of[0]), lane(b, number, of[1])
            part = compares(x, y).astype(np.int64) if run is None and compares else run(x, y)  # type: ignore[misc]
            if adds:
                total = total + part
                continue
            kept = np.clip(part, low, high) if cuts else part
            total = total | (kept & np.int64((1 << bits) - 1)) << np.int64(bits * number)
        wrapped: Value = (total & np.int64(0xFFFFFFFF)).astype(np.uint32)[()]
        return wrapped

    return Operation(("u32",), ("u32", "u32", "u32"), all_lanes)
