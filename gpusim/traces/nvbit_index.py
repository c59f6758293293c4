"""An index of NVBit's mem_trace text: where the records of each thread block are.

The records of all warps come in the order of their arrival.  One pass notes where each begins (24
bytes of memory, against one or two thousand of text); compressed text goes to a temporary file on
the way, since blocks are then read from all over it.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import weakref
from array import array
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import IO

from attrs import define, field, frozen

from gpusim.core.errors import UserError
from gpusim.core.streams import DEFAULT_STREAM
from gpusim.core.untrusted import MOST_LINE_BYTES, file_bytes, format_memory, untrusted
from gpusim.core.warp_program import Buffer
from gpusim.traces.application import MOST_EMPTY_BLOCKS, MOST_STREAM, made_buffer
from gpusim.traces.blocks import WARP_SIZE
from gpusim.traces.cuda_launch import check_stated_launch
from gpusim.traces.launch_needs import LaunchNeeds
from gpusim.traces.text import DAMAGES, PACKED, check_line, damage, open_binary

MARK = b"MEMTRACE:"
"""Begin of the tool's own lines; all others come from the traced program."""

_LAUNCH = re.compile(
    rb"Kernel name (?P<name>.*) - grid launch id (?P<id>\d+)"
    rb" - grid size (?P<grid>\d+,\d+,\d+) - block size (?P<block>\d+,\d+,\d+)"
    rb" - nregs (?P<registers>\d+) - shmem (?P<shared>\d+)"
)
_STREAM = re.compile(rb" - cuda stream id (\d{1,20})")
_ACCESS = re.compile(
    rb" - grid_launch_id (?P<id>\d+) - CTA (?P<x>\d+),(?P<y>\d+),(?P<z>\d+) - warp (?P<warp>\d+) - "
)
_PAIR = re.compile(rb"0x[0-9a-fA-F]+,0x[0-9a-fA-F]+\s*$")
_LOOK_EVERY = 64 << 20
"""Bytes of a temporary file between two looks at the room that is left."""
_FREE_BYTES = 1 << 30
_ALLOCATION = re.compile(
    rb"alloc address : (?P<base>0x[0-9a-fA-F]+|\d+), Size : (?P<bytes>0x[0-9a-fA-F]+|\d+)"
)


@frozen
class Record:
    """One memory instruction of one warp.

    Attributes:
        line: its number in the file.
        warp: number in its block.
        text: the line, or the lines of its lanes.
    """

    line: int
    warp: int
    text: str


@define(eq=False)
class NvbitKernel:
    """A launch, as its line describes it.

    Attributes:
        name: of the kernel.
        grid: blocks (x, y, z).
        threads_per_block: threads of a block.
        registers: 32-bit registers of a thread.
        shared_bytes: shared memory of a block.
        stream: of CUDA.
        line: that describes it.
        records: by block: place in the text, line number and warp of each record, by turns.
    """

    name: str
    grid: tuple[int, int, int]
    threads_per_block: int
    registers: int
    shared_bytes: int
    stream: int
    line: int
    records: dict[int, array[int]] = field(factory=dict)

    @property
    def blocks(self) -> int:
        """Number of thread blocks."""
        return prod(self.grid)

    @property
    def warps(self) -> int:
        """Warps of a block."""
        return -(-self.threads_per_block // WARP_SIZE)

    def note(self, block: int, place: int, line: int, warp: int) -> None:
        """Add a record of a block."""
        self.records.setdefault(block, array("q")).extend((place, line, warp))


class NvbitIndex:
    """An indexed file.

    Attributes:
        path: of the file.
        buffers: the arrays that the trace names.
        kernels: its launches by their id, in order.
        lanes: lines that tell of one lane alone.
    """

    def __init__(self, path: Path, text: IO[bytes]) -> None:
        self.path = path
        self.buffers: list[Buffer] = []
        self.kernels: dict[int, NvbitKernel] = {}
        self.lanes = 0
        self._text = text
        weakref.finalize(self, text.close)

    def lines(self) -> Iterator[tuple[int, int, bytes]]:
        """All lines: number, place, and text."""
        place = 0
        self._text.seek(0)
        for number, text in enumerate(_lines(self._text), start=1):
            check_line(self.path, number, text)
            yield number, place, text
            place += len(text)

    def records(self, kernel: NvbitKernel, block: int) -> Iterator[Record]:
        """The records of a block, in the order of their arrival."""
        noted = kernel.records.get(block, ())
        for place, line, warp in zip(noted[::3], noted[1::3], noted[2::3], strict=True):
            try:
                self._text.seek(place)
                text = self._text.readline()
                if not text.startswith(MARK):
                    text += b"".join(self._lanes(WARP_SIZE - 1))
            except DAMAGES as error:
                raise UserError(damage(self.path, line - 1, error)) from error
            yield Record(line, warp, text.decode("utf-8", "replace"))

    def _lanes(self, most: int) -> Iterator[bytes]:
        """The next lines of lanes of this launch, from where the text is."""
        while most and (text := self._text.readline()) and not text.startswith(MARK):
            if _PAIR.match(text):
                most -= 1
                yield text


def build_index(path: Path, needs: LaunchNeeds) -> NvbitIndex:
    """Index a file.

    Args:
        path: of the file.
        needs: what stands in place of the registers and shared memory of its launches.

    Raises:
        UserError: the file cannot be read, or a line is wrong.
    """
    line = 0
    with untrusted(path):
        try:
            index = NvbitIndex(path, _seekable(path))
            builder = _Builder(index, needs)
            for line, place, text in index.lines():
                builder.line(line, place, text)
        except DAMAGES as error:
            raise UserError(damage(path, line, error)) from error
        except ValueError as error:
            raise UserError(f"{path}:{line}: {error}") from error
    if not index.kernels:
        raise UserError(f"{path}: has no line of a launch (MEMTRACE: ... - LAUNCH - ...)")
    for kernel in index.kernels.values():
        if kernel.blocks > len(kernel.records) + MOST_EMPTY_BLOCKS:
            raise UserError(
                f"{path}:{kernel.line}: a launch of {kernel.blocks} blocks, and the records are of "
                f"{len(kernel.records)}; at most {MOST_EMPTY_BLOCKS} may have none"
            )
    return index


def _seekable(path: Path) -> IO[bytes]:
    file_bytes(path)
    if path.suffix not in PACKED:
        return path.open("rb")
    spill = tempfile.TemporaryFile()  # noqa: SIM115  (the index closes it)
    try:
        with open_binary(path) as stream:
            _spill(path, stream, spill)
    except BaseException:
        spill.close()
        raise
    return spill


def _spill(path: Path, packed: IO[bytes], spill: IO[bytes]) -> None:
    """Copy a text line by line, as long as the disk of temporary files has room for others."""
    written = 0
    for number, line in enumerate(_lines(packed), start=1):
        check_line(path, number, line)
        if written // _LOOK_EVERY != (written + len(line)) // _LOOK_EVERY:
            free = shutil.disk_usage(tempfile.gettempdir()).free
            if free < max(_FREE_BYTES, written):
                raise UserError(
                    f"{path}:{number}: unpacks to {format_memory(written)} so far, and "
                    f"{format_memory(free)} are left in {tempfile.gettempdir()}; name a folder "
                    "with more in TMPDIR, or unpack it"
                )
        written += len(line)
        spill.write(line)


def _lines(stream: IO[bytes]) -> Iterator[bytes]:
    """The lines; of one without an end as much as `check_line` wants to see."""
    while line := stream.readline(MOST_LINE_BYTES):
        yield line


class _Builder:
    """Takes the lines one by one; a wrong one raises ValueError."""

    def __init__(self, index: NvbitIndex, needs: LaunchNeeds) -> None:
        self._index = index
        self._needs = needs
        self._newest = -1
        self._shift: int | None = None
        self._listed = 0

    def line(self, number: int, place: int, text: bytes) -> None:
        """A line, its number and where it begins."""
        if (at := text.find(MARK)) > 0:  # behind a byte order mark, or output without an end
            place += at
            text = text[at:]
        if at >= 0:
            if access := _ACCESS.search(text):
                self._access(number, place, access)
            elif launch := _LAUNCH.search(text):
                self._launch(number, launch)
            else:
                raise ValueError("neither a launch nor a memory instruction of mem_trace")
        elif _PAIR.match(text):
            self._index.lanes += 1
            self._lane(number, place)
        elif allocation := _ALLOCATION.match(text):
            buffers = self._index.buffers
            name = f"allocation {len(buffers)}"
            base, size = (int(allocation[part], 0) for part in ("base", "bytes"))
            buffers.append(made_buffer(name, base, size))

    def _launch(self, line: int, found: re.Match[bytes]) -> None:
        x, y, z = (int(number) for number in found["grid"].split(b","))
        threads = prod(int(number) for number in found["block"].split(b","))
        self._newest = int(found["id"])
        if self._newest in self._index.kernels:
            raise ValueError(f"there are two launches with the id {self._newest}")
        if not x * y * z * threads:
            raise ValueError("a launch of no blocks or no threads")
        registers, shared = int(found["registers"]), int(found["shared"])
        check_stated_launch((x, y, z), threads, (registers, shared), self._needs)
        stream = _STREAM.search(found.string)
        number = int(stream[1]) if stream else DEFAULT_STREAM
        if number > MOST_STREAM:
            raise ValueError(f"stream {number}; at most {MOST_STREAM} is allowed")
        name = found["name"].decode("utf-8", "replace")
        self._index.kernels[self._newest] = NvbitKernel(
            name,
            (x, y, z),
            threads,
            registers,
            shared,
            number,
            line,
        )
        self._listed = 0

    def _access(self, number: int, place: int, found: re.Match[bytes]) -> None:
        """A record of a warp; some versions of the tool number them apart from the launches."""
        stated = int(found["id"])
        if self._shift is None:
            self._shift = 0 if stated in self._index.kernels else self._newest - stated
        kernel = self._kernel(stated + self._shift)
        x, y, z, warp = (int(found[name]) for name in ("x", "y", "z", "warp"))
        if x >= kernel.grid[0] or y >= kernel.grid[1] or z >= kernel.grid[2]:
            raise ValueError(f"CTA {x},{y},{z} is outside the grid {kernel.grid}")
        if warp >= kernel.warps:
            raise ValueError(f"warp {warp} of a block of {kernel.warps} warps")
        kernel.note(x + kernel.grid[0] * (y + kernel.grid[1] * z), place, number, warp)

    def _lane(self, number: int, place: int) -> None:
        """A lane of which the trace has only data and address.

        Our choice: 32 in a row are a load of one warp, and the warps of the launch take turns.
        """
        kernel = self._kernel(self._newest)
        instruction, lane = divmod(self._listed, WARP_SIZE)
        self._listed += 1
        if lane == 0:
            block, warp = divmod(instruction % (kernel.blocks * kernel.warps), kernel.warps)
            kernel.note(block, place, number, warp)

    def _kernel(self, launch: int) -> NvbitKernel:
        if launch not in self._index.kernels:
            raise ValueError("a memory instruction of a launch of which no line tells")
        return self._index.kernels[launch]
