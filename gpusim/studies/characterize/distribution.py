"""Distributions of whole numbers: exact, as distinct values and how often each occurs."""

from __future__ import annotations

import numpy as np
from attrs import define, field, frozen
from numpy.typing import NDArray

_MERGE_AT = 1 << 16
"""Values that a tally gathers before it merges them."""


@frozen(eq=False)
class Distribution:
    """How often each value occurs.

    Attributes:
        value: (n,) int64, distinct, ascending.
        count: (n,) int64, positive.
    """

    value: NDArray[np.int64]
    count: NDArray[np.int64]

    @classmethod
    def of(cls, values: NDArray[np.int64], counts: NDArray[np.int64] | None = None) -> Distribution:
        """The distribution of values in any order, each counted once, or by `counts`."""
        if counts is None:
            value, count = np.unique(values, return_counts=True)
            return cls(value.astype(np.int64), count.astype(np.int64))
        value, where = np.unique(values, return_inverse=True)
        count = np.zeros(len(value), dtype=np.int64)
        np.add.at(count, where, counts)
        return cls(value.astype(np.int64), count)

    @property
    def total(self) -> int:
        """Number of observations."""
        return int(self.count.sum())

    @property
    def mean(self) -> float:
        """Arithmetic mean; nan without observations."""
        return float(self.value @ self.count) / self.total if self.total else float("nan")

    def at_most(self, bound: int) -> float:
        """Share of observations that are `bound` or less; nan without observations."""
        if not self.total:
            return float("nan")
        return int(self.count[self.value <= bound].sum()) / self.total

    def quantile(self, share: float) -> int | None:
        """The least value that at least this share of the observations does not exceed."""
        if not self.total:
            return None
        reached = np.cumsum(self.count) >= share * self.total
        return int(self.value[np.argmax(reached)])

    def most_frequent(self, number: int) -> list[tuple[int, int]]:
        """(value, count) of the most frequent values; of equal ones the smaller value first."""
        order = np.lexsort((self.value, -self.count))[:number]
        return list(zip(self.value[order].tolist(), self.count[order].tolist(), strict=True))

    def cumulative(self) -> dict[int, float]:
        """Share of observations that are at most 1, 2, 4, ... up to all of them."""
        largest = int(self.value.max(initial=0))
        bounds = [1 << power for power in range(max(largest - 1, 0).bit_length() + 1)]
        return {bound: self.at_most(bound) for bound in bounds} if self.total else {}

    def to_json(self) -> dict[int, int]:
        """Count of each value."""
        return dict(zip(self.value.tolist(), self.count.tolist(), strict=True))

    def without(self, value: int) -> Distribution:
        """All observations but those of one value."""
        keep = self.value != value
        return Distribution(self.value[keep], self.count[keep])


@define(eq=False)
class Tally:
    """Gathers a distribution piece by piece; memory grows with the distinct values only."""

    _parts: list[Distribution] = field(factory=list, init=False)

    def add(self, values: NDArray[np.int64]) -> None:
        """Add observations."""
        if values.size:
            self._parts.append(Distribution.of(values))
            waiting = sum(len(part.value) for part in self._parts[1:])
            if waiting > len(self._parts[0].value) + _MERGE_AT:
                self.result()

    def result(self) -> Distribution:
        """All that was added so far."""
        parts = self._parts or [Distribution.of(np.zeros(0, dtype=np.int64))]
        merged = Distribution.of(
            np.concatenate([part.value for part in parts]),
            np.concatenate([part.count for part in parts]),
        )
        self._parts = [merged]
        return merged
