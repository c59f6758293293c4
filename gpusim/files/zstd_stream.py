"""Files of zstd, of which a piece is held at a time; one that is cut short is an error."""

from __future__ import annotations

import io
from typing import IO, TYPE_CHECKING

from zstandard import ZstdDecompressor, ZstdError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_WINDOW = 256 << 20
"""Memory for the window of a stream; ``zstd -19`` asks for 8 MiB."""

_PIECE = 1 << 9
"""Packed bytes that are unpacked at a time: a block of 128 KiB takes 4 of them at least."""


class ZstdStream(io.RawIOBase):
    """The unpacked bytes of a file, as they are asked for.

    Reading raises `OSError` where the file is damaged, `EOFError` where it is cut short.

    Args:
        packed: the file; it is closed with this one.
    """

    def __init__(self, packed: IO[bytes]) -> None:
        super().__init__()
        self._packed = packed
        self._frames = ZstdDecompressor(max_window_size=_WINDOW)
        self._frame = self._frames.decompressobj()
        self._begun = False
        self._left = b""
        self._data = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, into: WriteableBuffer) -> int:
        view = memoryview(into).cast("B")
        while not self._data:
            if not self._more():
                return 0
        size = min(len(view), len(self._data))
        view[:size] = self._data[:size]
        self._data = self._data[size:]
        return size

    def close(self) -> None:
        self._packed.close()
        super().close()

    def _more(self) -> bool:
        """Whether there was a further piece, which is unpacked then."""
        packed = self._left or self._packed.read(_PIECE)
        if not packed:
            if self._begun:
                raise EOFError("the file is cut short")
            return False
        try:
            self._data = memoryview(self._frame.decompress(packed))
        except ZstdError as error:
            raise OSError(f"damaged: {error}") from error
        self._left, self._begun = b"", not self._frame.eof
        if self._frame.eof:
            self._left = self._frame.unused_data
            self._frame = self._frames.decompressobj()
        return True
