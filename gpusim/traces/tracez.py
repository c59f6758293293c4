"""Kernels of Accel-Sim 2.0 (.tracez): the lines of a .traceg file, each warp compressed on its own.

The format is that of Accel-Sim's ``util/tracer_nvbit/tracer_tool/tracez_format.h``; all numbers are
little-endian.  Places in messages are lines of the text that Accel-Sim's ``traceDsm`` makes of it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from struct import Struct
from typing import IO, TYPE_CHECKING

import numpy as np
from attrs import define, field, frozen
from numpy.typing import NDArray

from gpusim.core.errors import UserError
from gpusim.core.untrusted import file_bytes
from gpusim.core.warp_program import NOTHING_ASKED, Asked, LaneChunk
from gpusim.traces.application import MOST_EMPTY_BLOCKS, TraceLaunch
from gpusim.traces.blocks import BlockTrace
from gpusim.traces.code_lines import CODE_BASE
from gpusim.traces.launch_needs import LaunchNeeds
from gpusim.traces.text import DAMAGES, Lines, damage
from gpusim.traces.traceg_block import Known, parse_block
from gpusim.traces.traceg_header import KernelHeader, header_of

if TYPE_CHECKING:
    from zstandard import ZstdDecompressor

SUFFIX = ".tracez"
"""Ending of such a file."""

_MOST_HEADER = 1 << 20
"""Bytes within which the text of the header ends."""

_MOST_PIECE = 1 << 24
"""Bytes of text in a piece of a warp, at most; 2048 instructions take some hundred thousand."""

_SIZES = Struct("<II")
"""Sizes of the dictionary in bytes, and of a piece in instructions, which the index replaces."""

_COUNT = Struct("<I")
_AT = Struct("<Q")
_BLOCK = Struct("<11I")
"""A block in the index: place in the grid, three triples and a rank of its cluster, its warps."""

_WARP = Struct("<IIQ")
"""A warp in the index: instructions, pieces, and where it lies."""

_BEFORE_WARPS, _BEFORE_INSTRUCTIONS, _AFTER_WARPS = 7, 3, 2
"""Lines of a block around its warps, and of a warp before its instructions, in decoded text."""


@frozen(eq=False, repr=False)
class _Index:
    """What is kept of a file.

    Attributes:
        places: (blocks, 2) of each block of the grid, where its record in the index begins, and the
            lines of the decoded text before it; -1: it is not in the file.
        decompressor: of its pieces.
    """

    places: NDArray[np.int64]
    decompressor: ZstdDecompressor


def read_tracez_header(path: Path, needs: LaunchNeeds) -> KernelHeader:
    """The header of a kernel; see `gpusim.traces.traceg_header.read_header`.

    Raises:
        UserError: the file cannot be read, or its header is wrong.
    """
    with _opened(path) as file:
        text = _header_text(path, file)
    return header_of(path, enumerate(text.splitlines(), 1), needs)


@define(kw_only=True, eq=False, repr=False)
class TracezLaunch(TraceLaunch):
    """A kernel of which any block is read on its own, and one piece of a warp at a time.

    What is kept of the file is where each block lies.  In a file without any block all of them do
    nothing; a file that has some must have the others too.

    Attributes:
        header: of the file.
        code: where its code lies.
    """

    header: KernelHeader
    code: int = CODE_BASE
    _index: _Index | None = field(default=None, init=False)
    _known: Known = field(factory=Known, init=False)

    def chunks(self, block: int, asked: Asked = NOTHING_ASKED) -> Iterator[LaneChunk]:
        index = self._index = self._index or _read_index(self.header)
        record, line = index.places[block].tolist()
        if record < 0:
            if (index.places < 0).all():
                return
            raise UserError(
                f"{self.header.path}: has no thread block {block} of {self.blocks} (x runs "
                "fastest); it was filtered"
            )
        with _opened(self.header.path) as file:
            lines = _Block(self.header.path, file, index.decompressor).lines(record, line)
            trace = BlockTrace(self, block, asked, self.code)
            parse_block(self.header, trace, lines, self._known)
        yield from trace.chunks()


@frozen(eq=False, repr=False)
class _Block:
    """Reads the warps of a block as lines, as they would stand in a .traceg file."""

    path: Path
    file: IO[bytes]
    decompressor: ZstdDecompressor

    def lines(self, record: int, line: int) -> Iterator[Lines]:
        """All lines of a block, some at a time; see `_Index.places`."""
        self.file.seek(record)
        *_, warps = _unpack(self.path, self.file, _BLOCK)
        at = self.file.tell()
        line += _BEFORE_WARPS
        for warp in range(warps):
            self.file.seek(at)
            instructions, pieces, begin = _unpack(self.path, self.file, _WARP)
            counts = _unpack(self.path, self.file, Struct(f"<{pieces}I"))
            at = self.file.tell()
            yield line + 2, [f"warp = {warp}", f"insts = {instructions}"]
            line += _BEFORE_INSTRUCTIONS
            self.file.seek(begin)
            if _unpack(self.path, self.file, _SIZES) != (instructions, pieces):
                raise self._damaged(line, "the index and the warp disagree")
            for count in counts:
                texts = self._piece(line)
                if len(texts) != count:
                    raise self._damaged(line, f"{len(texts)} instructions, the index says {count}")
                yield line + 1, texts
                line += count

    def _piece(self, line: int) -> list[str]:
        """The instructions of the next piece of a warp, decompressed."""
        from zstandard import ZstdError, frame_content_size

        (size,) = _unpack(self.path, self.file, _COUNT)
        data = _read(self.path, self.file, size)
        try:
            length = frame_content_size(data)
            if not 0 <= length <= _MOST_PIECE:
                raise self._damaged(line, f"a piece of {length} bytes")
            text = self.decompressor.decompress(data)
        except ZstdError as error:
            raise self._damaged(line, str(error)) from error
        return text.decode("utf-8", "replace").splitlines()

    def _damaged(self, line: int, reason: str) -> UserError:
        return UserError(f"{self.path}:{line}: {reason}; the file is damaged")


def _read_index(header: KernelHeader) -> _Index:
    """Find all blocks: 11 numbers a block and four a warp are passed over, not kept."""
    from zstandard import ZstdCompressionDict, ZstdDecompressor

    path = header.path
    with _opened(path) as file:
        line = len(_header_text(path, file).splitlines())
        size, _ = _unpack(path, file, _SIZES)
        dictionary = _read(path, file, size)
        end = file.seek(-_AT.size, 2)
        (at,) = _unpack(path, file, _AT)
        if at > end:
            raise UserError(f"{path}: its index lies behind its end; it is truncated")
        file.seek(at)
        (count,) = _unpack(path, file, _COUNT)
        if not count <= (end - at) // _BLOCK.size or header.blocks > count + MOST_EMPTY_BLOCKS:
            raise UserError(
                f"{path}: tells of {count} thread blocks of {header.blocks}; it is truncated"
            )
        places = np.full((header.blocks, 2), -1)
        for _ in range(count):
            record = file.tell()
            x, y, z, *_, warps = _unpack(path, file, _BLOCK)
            number = header.block_number(f"thread block = {x},{y},{z}", line + 4)
            if places[number, 0] >= 0:
                raise UserError(f"{path}:{line + 4}: thread block {x},{y},{z} comes a second time")
            places[number] = record, line
            line += _BEFORE_WARPS + _AFTER_WARPS
            for _ in range(warps):
                instructions, pieces, _ = _unpack(path, file, _WARP)
                file.seek(pieces * _COUNT.size, 1)
                line += _BEFORE_INSTRUCTIONS + instructions
    return _Index(places, ZstdDecompressor(ZstdCompressionDict(dictionary) if size else None))


def _header_text(path: Path, file: IO[bytes]) -> str:
    """The text before the first zero byte; the file is then behind it."""
    begin = file.read(_MOST_HEADER)
    text, zero, _ = begin.partition(b"\0")
    if not zero:
        raise UserError(f"{path}: its header has no end; it is no kernel of Accel-Sim 2.0")
    file.seek(len(text) + 1)
    return text.decode("utf-8", "replace")


def _opened(path: Path) -> IO[bytes]:
    file_bytes(path)
    try:
        return path.open("rb")
    except DAMAGES as error:
        raise UserError(damage(path, 0, error)) from error


def _unpack(path: Path, file: IO[bytes], struct: Struct) -> tuple[int, ...]:
    return struct.unpack(_read(path, file, struct.size))


def _read(path: Path, file: IO[bytes], size: int) -> bytes:
    """Read `size` bytes.

    Raises:
        UserError: there are less, or they cannot be read.
    """
    try:
        if size > os.fstat(file.fileno()).st_size:  # which read() would make room for
            raise UserError(f"{path}: claims {size} bytes in a row; it is damaged")
        data = file.read(size)
    except DAMAGES as error:
        raise UserError(damage(path, 0, error)) from error
    if len(data) < size:
        raise UserError(f"{path}: ends in the middle of something; it is truncated")
    return data
