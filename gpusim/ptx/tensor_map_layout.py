"""How descriptors of tensors lie in memory here, and instructions that change them.

A descriptor is 128 bytes whose layout NVIDIA does not tell; this one is ours.
"""

from __future__ import annotations

from attrs import evolve

from gpusim.ptx.syntax import Address, Function, Immediate, Instruction, Operand, Register, Vector

BYTES = 128
"""Size of a descriptor (PTX ISA, tensormap.replace)."""

FIELDS = {
    "global_address": (0, 8),
    "rank": (8, 4),
    "elemtype": (12, 4),
    "swizzle_mode": (16, 4),
    "interleave_layout": (20, 4),
    "fill_mode": (24, 4),
    "swizzle_atomicity": (28, 4),
    "box_dim": (32, 4),
    "global_dim": (52, 4),
    "global_stride": (72, 8),
    "element_stride": (104, 4),
}
"""Of each field, where its first number lies, and the bytes of a number."""

_PIECE = 16
_TEMPORARY = ("%tensormap0", "%tensormap1")


def lowered(one: Instruction, function: Function) -> list[Instruction]:
    """An instruction; one on descriptors as the stores and loads that it is in this layout.

    Args:
        one: as it stands in the PTX.
        function: gets registers that it needs.
    """
    if one.opcode != "tensormap" or not one.operands or not isinstance(one.operands[0], Address):
        return [one]
    place = one.operands[0]
    if one.has("replace"):
        name = next((word for word in one.modifiers if word in FIELDS), "")
        if not name:
            return [one]
        first, size = FIELDS[name]
        number = one.operands[1]
        ordinal = (
            int(number.value) if len(one.operands) > 2 and isinstance(number, Immediate) else 0
        )
        at = evolve(place, offset=place.offset + first + size * ordinal)
        space = tuple(word for word in one.modifiers if word.startswith(("shared", "global")))
        return [_as(one, "st", (*space, f"b{8 * size}"), (at, one.operands[-1]))]
    source = one.operands[1] if len(one.operands) > 1 else None
    if not one.has("cp_fenceproxy") or not isinstance(source, Address):
        return [one]
    function.registers.update(dict.fromkeys(_TEMPORARY, "b64"))
    pair = Vector(tuple(map(Register, _TEMPORARY)))
    made: list[Instruction] = []
    for offset in range(0, BYTES, _PIECE):
        of = evolve(source, offset=source.offset + offset)
        to = evolve(place, offset=place.offset + offset)
        made += [
            _as(one, "ld", ("shared", "v2", "b64"), (pair, of)),
            _as(one, "st", ("global", "v2", "b64"), (to, pair)),
        ]
    return made


def _as(
    one: Instruction, opcode: str, modifiers: tuple[str, ...], operands: tuple[Operand, ...]
) -> Instruction:
    return evolve(one, opcode=opcode, modifiers=modifiers, operands=operands)
