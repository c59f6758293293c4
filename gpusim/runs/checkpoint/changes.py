"""Changes that a launch makes in a program's arrays."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.core.errors import UserError
from gpusim.core.untrusted import afford
from gpusim.core.warp_program import Application

_GAP = 8
"""Elements between two changed ones that are kept along with them: a range takes 20 bytes."""


def arrays_of(application: Application) -> list[NDArray[Any]]:
    """The arrays of an application; none of a trace, which has addresses alone."""
    memory: Any = getattr(application, "memory", None)
    return [] if memory is None else [array.data for array in memory.arrays]


def hash_of(application: Application) -> str:
    """SHA-256 (hex) over the contents of its arrays."""
    digest = hashlib.sha256()
    for array in arrays_of(application):
        digest.update(f"{array.dtype.str} {array.size};".encode())
        if array.strides != (0,):  # else it has no contents
            digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


@frozen(eq=False, repr=False)
class Changes:
    """New values of ranges of elements, array by array.

    Attributes:
        arrays: of each range, its array, by number.
        starts, counts: of each, its first element and how many it has.
        values: their bytes, one range after the other.
    """

    arrays: NDArray[np.int64]
    starts: NDArray[np.int64]
    counts: NDArray[np.int64]
    values: NDArray[np.uint8]

    def apply(self, arrays: Sequence[NDArray[Any]], name: str) -> None:
        """Make the changes.

        Args:
            arrays: of the program.
            name: of the file that they come from.

        Raises:
            UserError: the arrays are not those of the program that made them.
        """
        taken = 0
        for number in np.unique(self.arrays):
            mine = self.arrays == number
            if not 0 <= number < len(arrays) or not arrays[number].flags.writeable:
                raise UserError(f"{name} changes array {number}, which the program does not have")
            flat = arrays[number].reshape(-1)
            starts, counts = self.starts[mine], self.counts[mine]
            if (starts < 0).any() or (counts < 1).any() or (counts > flat.size - starts).any():
                raise UserError(f"{name} changes elements that array {number} does not have")
            size = int(counts.sum()) * flat.itemsize
            values = self.values[taken : taken + size]
            if len(values) != size:
                raise UserError(f"{name} is damaged: values of array {number} are missing")
            flat[_elements(starts, counts)] = values.view(flat.dtype)
            taken += size
        if taken != len(self.values):
            raise UserError(f"{name} is damaged: there are more values than changes")


def copy_of(arrays: Sequence[NDArray[Any]]) -> list[NDArray[Any] | None]:
    """Arrays as they are now; None for those that cannot be changed.

    Raises:
        UserError: they hold objects, or there is no memory for them.
    """
    if any(array.dtype.hasobject for array in arrays):
        raise UserError("the program has an array of Python's objects, which cannot be kept")
    afford(2 * sum(array.nbytes for array in arrays), "the program's arrays, twice,")
    return [array.copy() if array.flags.writeable else None for array in arrays]


def changes(before: Sequence[NDArray[Any] | None], after: Sequence[NDArray[Any]]) -> Changes:
    """What differs between `copy_of` arrays and the same arrays now, bit for bit."""
    numbers, starts, counts, values = [], [], [], []
    for number, (old, new) in enumerate(zip(before, after, strict=True)):
        if old is None:
            continue
        first, count = _ranges(np.flatnonzero(_differ(old.reshape(-1), new.reshape(-1))))
        numbers.append(np.full(len(first), number, dtype=np.int64))
        starts.append(first)
        counts.append(count)
        values.append(new.reshape(-1)[_elements(first, count)].view(np.uint8))
    none = np.zeros(0, dtype=np.int64)
    return Changes(
        np.concatenate([none, *numbers]),
        np.concatenate([none, *starts]),
        np.concatenate([none, *counts]),
        np.concatenate([none.astype(np.uint8), *values]),
    )


def _differ(old: NDArray[Any], new: NDArray[Any]) -> NDArray[np.bool_]:
    """Which elements are not bit for bit the same: a number that is none differs from itself."""
    size = old.itemsize
    if size in (1, 2, 4, 8):
        word = np.dtype(f"u{size}")
        return np.asarray(old.view(word) != new.view(word))
    as_bytes = (one.view(np.uint8).reshape(len(one), size) for one in (old, new))
    return np.asarray(np.not_equal(*as_bytes).any(axis=1))


def _ranges(changed: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Starts and lengths of ranges that hold all changed elements, and few others."""
    if not len(changed):
        return changed, changed
    breaks = np.flatnonzero(np.diff(changed) > _GAP)
    starts = changed[np.concatenate(([0], breaks + 1))]
    ends = changed[np.concatenate((breaks, [len(changed) - 1]))]
    return starts, ends - starts + 1


def _elements(starts: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The elements of ranges, one after the other."""
    before = np.cumsum(counts) - counts
    return np.repeat(starts - before, counts) + np.arange(int(counts.sum()))
