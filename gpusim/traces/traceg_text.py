"""The text of a .traceg file, thread block by thread block."""

from __future__ import annotations

from collections.abc import Iterator

from gpusim.core.errors import UserError
from gpusim.traces.memory_budget import LINE_BYTES, Room
from gpusim.traces.text import Lines, read_pieces
from gpusim.traces.traceg_header import FIRST_BLOCK, KernelHeader


class BlockText:
    """The lines of a thread block between its begin and its end.

    Attributes:
        number: of the block in the grid; -1: not known yet.
        runs: its lines, but for the one with its number; some may be empty.
        size: bytes of memory that they take.
    """

    __slots__ = ("number", "runs", "size")

    def __init__(self) -> None:
        self.number = -1
        self.runs: list[Lines] = []
        self.size = 0


def read_blocks(header: KernelHeader, room: Room) -> Iterator[BlockText]:
    """The blocks of a kernel in the order of its file.

    They take of the room; the caller gives it back when it has used them up.

    Raises:
        UserError: the file cannot be read, is wrong, or there is no room.
    """
    reader = _Reader(header, room)
    for first, lines in read_pieces(header.path):
        wrong: UserError | None = None
        try:
            reader.read(first, lines)
        except UserError as error:
            wrong = error
        yield from reader.take()
        if wrong is not None:  # it lies behind these
            raise wrong
    reader.end()


class _Reader:
    """Finds the blocks in pieces of a file."""

    def __init__(self, header: KernelHeader, room: Room) -> None:
        self._header = header
        self._room = room
        self._block: BlockText | None = None
        self._whole: list[BlockText] = []
        self._seen: set[int] = set()  # what is in the file, not what its grid claims
        self._begun = False  # what stands before the first block is the header

    def take(self) -> list[BlockText]:
        """The blocks that have ended since."""
        whole, self._whole = self._whole, []
        return whole

    def read(self, first: int, lines: list[str]) -> None:
        """The next lines of the file, of which the first has this number."""
        begin = 0
        for place, text in enumerate(lines):
            if text.startswith(("#", "thread block")):
                self._add(first, lines, begin, place)
                begin = place + 1
                self._mark(text, first + place)
        self._add(first, lines, begin, len(lines))

    def _add(self, first: int, lines: list[str], begin: int, end: int) -> None:
        """Lines that are no marks."""
        if self._block is not None:
            if begin < end:
                self._keep(self._block, first + begin, lines[begin:end])
        elif self._begun:
            for place in range(begin, end):
                if lines[place].strip():
                    raise self._outside(lines[place], first + place)

    def _keep(self, block: BlockText, first: int, lines: list[str]) -> None:
        """Lines of a block, of which the first has this number: take room for them."""
        size = LINE_BYTES * len(lines) + sum(map(len, lines))
        block.size += size
        try:
            self._room.take(size)
        except ValueError as error:
            raise UserError(f"{self._header.path}:{first}: {error}") from error
        block.runs.append((first, lines))

    def _outside(self, text: str, number: int) -> UserError:
        return UserError(
            f"{self._header.path}:{number}: {text[:80]!r}: stands outside of a thread block"
        )

    def _mark(self, text: str, number: int) -> None:
        """A comment, or the number of a block."""
        block, path = self._block, self._header.path
        if text.startswith(FIRST_BLOCK):
            if block is not None:
                raise UserError(f"{path}:{number}: a block begins inside another")
            self._block = BlockText()
            self._begun = True
        elif block is None:
            if not text.startswith("#") or text.startswith("#END_TB"):
                raise self._outside(text, number)
        elif text.startswith("#END_TB"):
            if block.number < 0:
                raise UserError(f"{path}:{number}: a block without 'thread block = x,y,z'")
            self._whole.append(block)
            self._block = None
        elif text.startswith("thread block"):
            block.number = self._header.block_number(text, number)
            if block.number in self._seen:
                raise UserError(f"{path}:{number}: {text[:80]!r} comes a second time")
            self._seen.add(block.number)
        else:  # a comment is no line of a block
            self._keep(block, number, [text])

    def end(self) -> None:
        """The file has ended."""
        if self._block is not None:
            raise UserError(f"{self._header.path}: ends inside a thread block; it is truncated")
