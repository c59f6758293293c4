"""Tensors and operators, as a program of PyTorch had them: sizes and places, no contents."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray


@frozen
class Tensor:
    """A tensor's place in its storage.

    Attributes:
        storage: number of its storage.
        size: bytes of an element.
        offset: elements before its first one.
        shape, strides: of its axes, strides in elements.
    """

    storage: int
    size: int
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def count(self) -> int:
        """Its elements."""
        return prod(self.shape)

    @property
    def dense(self) -> bool:
        """Whether its elements lie one after the other, in the order of its axes."""
        step = 1
        for length, stride in zip(self.shape[::-1], self.strides[::-1], strict=True):
            if length != 1 and stride != step:
                return False
            step *= length
        return True

    def spread_to(self, shape: tuple[int, ...]) -> Tensor:
        """The same tensor where it is combined with larger ones: missing axes are repeated."""
        missing = len(shape) - len(self.shape)
        lengths = (1,) * missing + self.shape
        strides = (0,) * missing + self.strides
        own = tuple(
            0 if length == 1 and wanted != 1 else stride
            for length, stride, wanted in zip(lengths, strides, shape, strict=True)
        )
        return Tensor(self.storage, self.size, self.offset, shape, own)

    def part(self, axis: int, first: int, length: int) -> Tensor:
        """A slice of it along an axis."""
        shape = (*self.shape[:axis], length, *self.shape[axis + 1 :])
        offset = self.offset + first * self.strides[axis]
        return Tensor(self.storage, self.size, offset, shape, self.strides)


@frozen(eq=False)
class Operation:
    """An operator that ran.

    Attributes:
        name: as PyTorch has it, such as ``"mm"``.
        inputs, outputs: tensors, in order; outputs may be inputs that were changed.
        pointwise: whether each element of the output is made of those at its place.
        indices: contents of the input of whole numbers, for operators that look up rows by them.
        elements: numbers of the elements of the first input that operators with indices access.
        numbers: other arguments that matter, by name.
    """

    name: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    pointwise: bool = False
    indices: NDArray[np.int64] | None = None
    numbers: dict[str, Any] = field(factory=dict)
    elements: NDArray[np.int64] | None = None


@frozen
class Storage:
    """Memory of tensors.

    Attributes:
        name: for reports.
        bytes: its size.
    """

    name: str
    bytes: int
