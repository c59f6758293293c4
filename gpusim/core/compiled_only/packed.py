"""Integers in bytes, for compiled code alone (interpreted code has `struct.pack`)."""

from __future__ import annotations

from librt.strings import BytesWriter, write_i64_le


def packed(numbers: list[int]) -> bytes:
    """Integers of 64 bits, one after the other, little-endian."""
    writer = BytesWriter()
    for number in numbers:
        write_i64_le(writer, number)
    return writer.getvalue()
