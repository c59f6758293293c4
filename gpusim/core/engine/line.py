"""A line between two processes: batches of words through two rings in memory that both share.

A ring has one writer and one reader.  The writer puts a whole batch into it and then says how far
it has written; that order of two stores is what processors of the x86 family keep.
"""

from __future__ import annotations

from collections.abc import Callable
from mmap import mmap
from typing import Any, Final

from gpusim.core.unboxed import IntFifo, Words

RING_BYTES: Final = 1 << 22
"""Of one ring: batches of some thousand messages fit in."""

_HEADS: Final = 4096
"""Bytes before the two rings: how far each has been written and read."""

LINE_BYTES: Final = _HEADS + 2 * RING_BYTES
"""Of the memory that a line needs."""

_FAR: Final = 16
"""Between two numbers there, counted in words: each has cache lines of its own."""

_HEAD: Final = 4
"""Words before the messages of a batch."""

_PATIENCE: Final = 200
"""Looks at an empty ring before each further one is a pause."""


class Line:
    """One end of a line.

    Args:
        memory: `LINE_BYTES` that both processes share.
        end: 0 or 1.
        pause: called with the number of looks in vain so far.

    Attributes:
        until: the cycle up to which the other side has told everything.
        asked: whether it waits for an answer.
        unsaid: whether batches have come since the last one was posted.
    """

    def __init__(self, memory: mmap, end: int, pause: Callable[[int], None]) -> None:
        self.until = -1
        self.asked = False
        self.unsaid = False
        self._memory = memory
        self._heads: Any = memoryview(memory)[:_HEADS].cast("q")
        self._pause = pause
        self._out, self._in = _HEADS + end * RING_BYTES, _HEADS + (1 - end) * RING_BYTES
        """Where the rings begin that are written and read here."""
        self._out_head, self._in_head = 2 * end * _FAR, 2 * (1 - end) * _FAR
        """Where it stands how far they have been written; how far read: `_FAR` further."""
        self._written = 0
        self._read = 0
        self._freed = 0
        """How far the other one had read, when that was looked at last."""
        self._heard = 0
        """Batches with messages that have come."""
        self._heard_there = 0
        """Of these, those that the other side knew when it posted its last batch."""
        self._first = IntFifo()
        """The first cycle of each that it did not."""
        self._head = Words()

    def bound(self) -> int:
        """The cycle up to which the other side has told everything, whatever it hears meanwhile.

        It tells nothing before it hears what it does not know yet.
        """
        if not self._first:
            return self.until
        return min(self.until, self._first[0] - 1)

    def post(self, words: Words, until: int, asks: bool) -> None:
        """Send words, which are taken out of their queue.

        Args:
            words: messages.
            until: the cycle up to which there are no more, unless something new is heard.
            asks: whether an answer is waited for.
        """
        count = len(words)
        if count:
            self._first.append(words.first())
        head = self._head
        head.append(count)
        head.append(until)
        head.append(self._heard)
        head.append(1 if asks else 0)
        self._put(head.take_bytes() + words.take_bytes())
        self.unsaid = False

    def _put(self, data: bytes) -> None:
        size = len(data)
        if size > RING_BYTES:
            raise RuntimeError(f"a batch of {size} bytes does not fit into a ring of {RING_BYTES}")
        looks = 0
        while self._written + size - self._freed > RING_BYTES:
            self._freed = self._heads[self._out_head + _FAR]
            looks += 1
            if looks > _PATIENCE:
                self._pause(looks)
        place = self._written % RING_BYTES
        first = min(size, RING_BYTES - place)
        begin = self._out + place
        self._memory[begin : begin + first] = data[:first]
        if first < size:
            self._memory[self._out : self._out + size - first] = data[first:]
        self._written += size
        self._heads[self._out_head] = self._written

    def fetch(self, words: Words) -> bool:
        """Take in what has come; the messages go to the end of a queue; False: nothing has."""
        written: int = self._heads[self._in_head]
        size = written - self._read
        if not size:
            return False
        place = self._read % RING_BYTES
        first = min(size, RING_BYTES - place)
        begin = self._in + place
        data = self._memory[begin : begin + first]
        if first < size:
            data += self._memory[self._in : self._in + size - first]
        self._read = written
        self._heads[self._in_head + _FAR] = written
        place, end = 0, len(data) // 8
        while place < end:
            place = self._take(data, place, words)
        return True

    def _take(self, data: bytes, place: int, words: Words) -> int:
        """Take in the batch that begins at a word; returns where the next one begins."""
        head = self._head
        head.append_bytes(data, place, place + _HEAD)
        count = head.take()
        self.until = head.take()
        heard = head.take()
        self.asked = head.take() == 1
        head.tidy()
        while self._heard_there < heard:
            self._heard_there += 1
            self._first.pop(0)
        place += _HEAD
        if count:
            self._heard += 1
            self.unsaid = True
            words.append_bytes(data, place, place + count)
        return place + count

    def wait(self, words: Words) -> None:
        """Take in what comes next; see `fetch`."""
        looks = 0
        while not self.fetch(words):
            looks += 1
            if looks > _PATIENCE:
                self._pause(looks)
