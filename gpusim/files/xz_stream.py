"""Files of xz, of which no more is held than a stated dictionary."""

from __future__ import annotations

import io
import lzma
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MEMORY_BYTES = 256 << 20
"""For the dictionary of a stream; ``xz -9`` asks for 65 MiB, the format allows 4 GiB."""

_PIECE = 1 << 16


class XzStream(io.RawIOBase):
    """The unpacked bytes of a file, as they are asked for.

    Reading raises `lzma.LZMAError` or `EOFError` where the file is damaged, cut short, or asks for
    more memory than `MEMORY_BYTES`.

    Args:
        packed: the file; it is closed with this one.
    """

    def __init__(self, packed: IO[bytes]) -> None:
        super().__init__()
        self._file = packed
        self._unpack = self._begin()
        self._packed = b""

    def readable(self) -> bool:
        return True

    def readinto(self, into: WriteableBuffer) -> int:
        view = memoryview(into).cast("B")
        data = b""
        while not data:
            if self._unpack.eof and not self._next():
                return 0
            if self._unpack.needs_input and not self._packed:
                self._packed = self._file.read(_PIECE)
                if not self._packed:
                    raise EOFError("the file is cut short")
            data = self._unpack.decompress(self._packed, len(view))
            self._packed = b""
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()

    def _next(self) -> bool:
        """Whether another stream follows the one that has ended, after zeros that pad it."""
        rest = self._unpack.unused_data.lstrip(b"\0")
        while not rest:
            more = self._file.read(_PIECE)
            if not more:
                return False
            rest = more.lstrip(b"\0")
        self._unpack, self._packed = self._begin(), rest
        return True

    def _begin(self) -> lzma.LZMADecompressor:
        return lzma.LZMADecompressor(memlimit=MEMORY_BYTES)
