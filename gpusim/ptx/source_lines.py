"""Lines of the source that a PTX module was compiled from: its ``.file`` and ``.loc``."""

from __future__ import annotations

from gpusim.ptx.syntax import Instruction, Place
from gpusim.ptx.word_reader import WordReader

_FileLineColumn = tuple[int, int, int]


class SourceLines:
    """Reads ``.file`` and ``.loc``, and gives instructions their places in the source."""

    def __init__(self, words: WordReader) -> None:
        self._words = words
        self._files: dict[int, str] = {}
        self._placed: list[tuple[Instruction, int, int]] = []
        self._now: tuple[int, int] | None = None
        """File and line of what is read next; None: not known."""
        self._inlined: dict[_FileLineColumn, _FileLineColumn | None] = {}

    def begin_function(self) -> None:
        """The lines of one function say nothing of the next one."""
        self._now = None

    def file(self) -> None:
        """Read a ``.file``."""
        words = self._words
        words.next()
        number = words.whole()
        self._files[number] = words.next().text.strip('"').rpartition("/")[2]
        while words.take(","):
            words.next()

    def location(self) -> None:
        """Read a ``.loc``."""
        words = self._words
        words.next()
        place = self._line_and_column()
        outer = None
        while words.take(","):
            if words.name() == "inlined_at":
                outer = self._line_and_column()
            else:  # function_name, with an offset
                words.name()
                words.offset()
        self._inlined[place] = outer
        if place[1]:  # 0: the compiler's own
            self._now = self._in_own_file(place)[:2]

    def _line_and_column(self) -> _FileLineColumn:
        words = self._words
        file, line = words.whole(), words.whole()
        return file, line, words.whole() if words.now.kind == "number" else 0

    def _in_own_file(self, place: _FileLineColumn) -> _FileLineColumn:
        """Of a line that is put in others, the innermost one in the file of the outermost."""
        chain = [place]
        while (outer := self._inlined.get(chain[-1])) is not None and outer not in chain:
            chain.append(outer)
        return next(one for one in chain if one[0] == chain[-1][0])

    def place(self, instruction: Instruction) -> None:
        """An instruction has been read, of the line of the last ``.loc``."""
        if self._now is not None:
            self._placed.append((instruction, *self._now))

    def finish(self) -> None:
        """Name the source of all instructions: a file may be named behind its lines."""
        for instruction, file, line in self._placed:
            instruction.source = Place(self._files.get(file, f"file {file}"), line)
