"""What an assembled kernel needs, as its cubin says: an ELF file with a section of code a kernel.

The upper 8 bits of such a section's ``sh_info`` are the 32-bit registers of a thread; they are what
``ptxas -v`` prints (held against it for CUDA 12 and 13).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

_HEADER, _SECTION = struct.Struct("<16xHHIQQQIHHHHHH"), struct.Struct("<IIQQQQIIQQ")
_MAGIC = b"\x7fELF"
_REGISTERS_SHIFT = 24


def registers_of(cubin: bytes, kernel: str) -> int | None:
    """32-bit registers of a thread; None: there is no such kernel in it."""
    for name, info in _sections(cubin):
        if name == f".text.{kernel}":
            return info >> _REGISTERS_SHIFT or None
    return None


def _sections(data: bytes) -> Iterator[tuple[str, int]]:
    """Names of the sections, and their ``sh_info``."""
    if not data.startswith(_MAGIC) or len(data) < _HEADER.size:
        return
    *_, start, _, _, _, _, size, count, names = _HEADER.unpack_from(data)
    sections = [_SECTION.unpack_from(data, start + place * size) for place in range(count)]
    texts = sections[names][4]
    for section in sections:
        begin = texts + section[0]
        yield data[begin : data.index(b"\0", begin)].decode("utf-8", "replace"), section[7]
