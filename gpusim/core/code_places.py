"""Places in a program's code, by number: chunks of a program name the places of their accesses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attrs import frozen

NO_PLACE = -1
"""The number of an access whose place in the code is not known."""

MOST_PLACES = 1 << 20
"""Places that are kept apart (our choice): the largest kernels have some ten thousand."""


@frozen(repr=False)
class CodePlace:
    """Where in the code of a program an instruction stands.

    Attributes:
        kernel: the function's name.
        file: of the source; empty: not known.
        line: in it, from 1 on; 0: not known.
        pc: program counter within the kernel; -1: not known.
        text: the instruction; empty: not known.
    """

    kernel: str
    file: str = ""
    line: int = 0
    pc: int = -1
    text: str = ""


class CodePlaces:
    """Places of one program, numbered in the order in which they are first asked for.

    Args:
        places: those that are known, in order.
    """

    def __init__(self, places: Iterable[CodePlace] = ()) -> None:
        self._numbers: dict[CodePlace, int] = {}
        for place in places:
            self.number(place)

    def number(self, place: CodePlace) -> int:
        """The number of a place; `NO_PLACE` if there are too many."""
        found = self._numbers.get(place)
        if found is None:
            found = len(self._numbers)
            if found >= MOST_PLACES:
                return NO_PLACE
            self._numbers[place] = found
        return found

    def __iter__(self) -> Iterator[CodePlace]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)
