"""Conservation laws: sums of counters that are equal at the end of every run."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import field, frozen

from gpusim.core.tally import Sum, Tally, check_counted, sum_of


@frozen
class Law:
    """Two sums of counters that are equal, for each application by itself.

    Attributes:
        left, right: the sums.
        what: the left one in words; default: as it is written.
        other: the right one.
    """

    left: Sum = field(converter=sum_of)
    right: Sum = field(converter=sum_of)
    what: str = ""
    other: str = ""

    def violation(self, path: str, tally: Tally) -> str:
        """How it is broken for the components of `path`, with both numbers; empty if it holds.

        Raises:
            ValueError: nothing counts what it names.
        """
        numbers = [self._number(path, tally, side) for side in (self.left, self.right)]
        if numbers[0] == numbers[1]:
            return ""
        what, other = self.what or self.left.text, self.other or self.right.text
        where = f"{path}: " if path else ""
        return f"{where}{what} = {numbers[0]}, but {other} = {numbers[1]}"

    def _number(self, path: str, tally: Tally, side: Sum) -> int:
        number = tally.total(path, side)
        if number is None:
            raise ValueError(f"a law names {side.text!r}, but not all of that is counted")
        return number


def laws_of(classes: Sequence[type], *laws: Law) -> tuple[Law, ...]:
    """Laws between the counters of some classes of one component.

    Raises:
        ValueError: they name something that these classes do not count.
    """
    for law in laws:
        for side in (law.left, law.right):
            check_counted(f"the law {law.left.text!r} = {law.right.text!r}", side, classes)
    return laws
