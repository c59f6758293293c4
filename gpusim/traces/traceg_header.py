"""The header of a kernel's .traceg or .tracez file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from math import prod
from pathlib import Path

from attrs import frozen

from gpusim.core.errors import UserError
from gpusim.traces.application import MOST_STREAM
from gpusim.traces.cuda_launch import check_cuda_launch
from gpusim.traces.launch_needs import LaunchNeeds
from gpusim.traces.text import Line, read_lines

NEWEST_VERSION = 6
"""The newest tracer version whose lines are known."""

KEYS = (
    "kernel name",
    "kernel id",
    "grid dim",
    "block dim",
    "shmem",
    "nregs",
    "binary version",
    "cuda stream id",
    "shmem base_addr",
    "local mem base_addr",
    "nvbit version",
    "accelsim tracer version",
    "enable lineinfo",
)
"""Keys of a header that are read, or tell nothing that a run needs: the number of the kernel, and
the versions of its binary and of NVBit."""

_PAIR = re.compile(r"-(?P<key>[^=]+?)\s*=\s*(?P<value>.*?)\s*$")
_REPLACED = ("nregs", "shmem")
"""Keys for which a user may say another number (`gpusim.traces.options`)."""

FIRST_BLOCK = "#BEGIN_TB"
"""Begin of the line that ends a header; other lines with ``#`` are comments."""

_MOST_DIGITS = 80
"""Most characters of three numbers that fit a grid."""
_NO_GRID = (1, 1, 1)
_TRIPLE = re.compile(r"\(?\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*\)?$")


@frozen(eq=False, repr=False)
class KernelHeader:
    """What is said of a kernel before its blocks.

    Attributes:
        path: of the kernel's file.
        name: as compiled (mangled).
        grid, block: blocks of the grid and threads of a block (x, y, z).
        registers: 32-bit registers of a thread; 0 if absent.
        shared_bytes: shared memory of a block; 0 if absent.
        shared_base, local_base: where the windows of generic addresses begin; 0 if absent.
        version: of the tracer; 0 if absent.
        line_info: whether every instruction begins with a source line number.
        stream: of CUDA; 0 if absent.
        unknown: keys that are none of `KEYS`.
        absent: keys of what a block needs of an SM that the header lacks, and that no user has said
            in its place: they count as 0.
    """

    path: Path
    name: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    registers: int
    shared_bytes: int
    shared_base: int
    local_base: int
    version: int
    line_info: bool
    stream: int
    unknown: tuple[str, ...]
    absent: tuple[str, ...]

    @property
    def blocks(self) -> int:
        """Number of thread blocks."""
        return prod(self.grid)

    @property
    def threads_per_block(self) -> int:
        """Threads of a block."""
        return prod(self.block)

    def block_number(self, text: str, line: int) -> int:
        """The number of the block of a line ``thread block = x,y,z``; x runs fastest.

        Raises:
            UserError: it is no such line, or the block is not in the grid.
        """
        found = _TRIPLE.match(text.partition("=")[2].strip()[:_MOST_DIGITS])
        x, y, z = (int(found[i]) for i in (1, 2, 3)) if found else (-1, 0, 0)
        if not found or x >= self.grid[0] or y >= self.grid[1] or z >= self.grid[2]:
            raise UserError(
                f"{self.path}:{line}: {text[:80]!r}: must be 'thread block = x,y,z' within the "
                f"grid {self.grid}"
            )
        return x + self.grid[0] * (y + self.grid[1] * z)


def read_header(path: Path, needs: LaunchNeeds) -> KernelHeader:
    """The header: lines ``-key = value`` up to the first block.

    Args:
        path: of the kernel's file.
        needs: what stands in place of ``nregs`` and ``shmem``, which are not read then.

    Raises:
        UserError: the file cannot be read, a key is missing, or a value is wrong.
    """
    return header_of(path, read_lines(path), needs)


def header_of(path: Path, lines: Iterable[Line], needs: LaunchNeeds) -> KernelHeader:
    """The header of a kernel, from numbered lines of its file; see `read_header`.

    Raises:
        UserError: a key is missing, or a value is wrong.
    """
    fields: dict[str, tuple[int, str]] = {}
    for number, line in lines:
        if line.startswith(FIRST_BLOCK):
            break
        if line.startswith("#") or not line.strip():
            continue
        pair = _PAIR.match(line)
        if not pair:
            raise UserError(f"{path}:{number}: {line[:80]!r}: must be '-key = value' here")
        if pair["key"] in fields:
            raise UserError(f"{path}:{number}: -{pair['key'][:40]} comes a second time")
        fields[pair["key"]] = number, pair["value"]
    return _Fields(path, fields).header(needs)


@frozen(eq=False, repr=False)
class _Fields:
    """Keys of a header, with the line and the text of each."""

    path: Path
    lines: dict[str, tuple[int, str]]

    def header(self, needs: LaunchNeeds) -> KernelHeader:
        said = dict(zip(_REPLACED, (needs.registers, needs.shared_bytes), strict=True))
        stated = {key: self._number(key) for key, value in said.items() if value is None}
        needed = {**stated, **{key: value for key, value in said.items() if value is not None}}
        header = KernelHeader(
            path=self.path,
            name=self._required("kernel name"),
            grid=self._triple("grid dim"),
            block=self._triple("block dim"),
            registers=needed["nregs"],
            shared_bytes=needed["shmem"],
            shared_base=self._number("shmem base_addr", 16),
            local_base=self._number("local mem base_addr", 16),
            version=self._number("accelsim tracer version"),
            line_info=bool(self._number("enable lineinfo")),
            stream=self._stream(),
            unknown=tuple(key for key in self.lines if key not in KEYS),
            absent=tuple(key for key in stated if key not in self.lines),
        )
        if header.version > NEWEST_VERSION:
            raise self._error("accelsim tracer version", f"unknown; allowed: 0 to {NEWEST_VERSION}")
        self._check_sizes(header, stated)
        return header

    def _check_sizes(self, header: KernelHeader, stated: Mapping[str, int]) -> None:
        """Refuse what no launch has; `stated` are its needs that stand in the header."""
        for key, grid, *sizes in (
            ("grid dim", header.grid, 1),
            ("block dim", _NO_GRID, header.threads_per_block),
            ("nregs", _NO_GRID, 1, stated.get("nregs", 0)),
            ("shmem", _NO_GRID, 1, 0, stated.get("shmem", 0)),
        ):
            try:
                check_cuda_launch(grid, *sizes)
            except ValueError as error:
                raise self._error(key, str(error)) from error

    def _stream(self) -> int:
        """The stream; CUDA's are addresses, or 0."""
        stream = self._number("cuda stream id")
        if stream > MOST_STREAM:
            raise self._error("cuda stream id", f"must be at most {MOST_STREAM}")
        return stream

    def _required(self, key: str) -> str:
        if key not in self.lines:
            raise UserError(f"{self.path}: the header has no line '-{key} = ...'")
        return self.lines[key][1]

    def _triple(self, key: str) -> tuple[int, int, int]:
        found = _TRIPLE.match(self._required(key)[:_MOST_DIGITS])
        triple = (int(found[1]), int(found[2]), int(found[3])) if found else (0, 0, 0)
        if not all(triple):
            raise self._error(key, "must be (x,y,z), each at least 1")
        return triple

    def _number(self, key: str, base: int = 10) -> int:
        """A whole number of 0 or more; 0 if the key is absent."""
        try:
            value = int(self.lines[key][1][:_MOST_DIGITS], base) if key in self.lines else 0
        except ValueError:
            value = -1
        if value < 0:
            raise self._error(key, "must be a whole number" + (" in hex" if base == 16 else ""))
        return value

    def _error(self, key: str, reason: str) -> UserError:
        line, text = self.lines[key]
        instead = f"; --set workload.{key}=NUMBER replaces it" if key in _REPLACED else ""
        return UserError(f"{self.path}:{line}: {key} = {text[:80]}: {reason}{instead}")
