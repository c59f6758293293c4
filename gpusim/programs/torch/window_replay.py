"""Launches of convolutions, pools and resampled pictures."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

from attrs import frozen

from gpusim.core.warp_program import Launch
from gpusim.programs.torch.kernels import THREADS, TILE, Place
from gpusim.programs.torch.tensors import Operation, Tensor
from gpusim.programs.torch.windows import Matrix, Sizes, Windows, convolve, pool

SAMPLES = {"nearest": 1, "linear": 2, "bilinear": 2, "trilinear": 2, "bicubic": 4}
"""Elements of a picture, along an axis, that an element of a resampled one is made of."""


def convolution(one: Operation, place: Place) -> Iterator[Launch]:
    """A convolution, or a transposed one, as a product without its copy of the windows."""
    source, weight = one.inputs[:2]
    (out,) = one.outputs
    turned = bool(one.numbers.get("transposed"))
    kinds = ("origins", "turned") if turned else ("patches", "weights")
    yield _product(one, place, (source, kinds[0]), (weight, kinds[1]), out)


def convolution_backward(one: Operation, place: Place) -> Iterator[Launch]:
    """Gradients of what was convolved, and of the weights."""
    gradient, source, weight = one.inputs[:3]
    turned = bool(one.numbers.get("transposed"))
    wanted = [bool(asked) for asked in one.numbers["output_mask"]]
    made = dict(zip([n for n in range(3) if wanted[n]], one.outputs, strict=True))
    if 0 in made:
        kinds = ("patches", "weights") if turned else ("origins", "turned")
        yield _product(one, place, (gradient, kinds[0]), (weight, kinds[1]), made[0])
    if 1 in made:
        small, large = (source, gradient) if turned else (gradient, source)
        yield _of_weights(one, place, small, large, made[1])


def _each(given: Any, axes: int, default: int) -> Sizes:
    """A number an axis, of what may be one for all, or missing."""
    found = tuple(given) if isinstance(given, tuple) else (default if given is None else given,)
    return tuple(map(int, found * axes if len(found) == 1 else found or (default,) * axes))


@frozen
class _Sliding:
    """How windows slide in an operator.

    Attributes:
        windows: they.
        pixels: extent of the axes of what they make, or of what they are put together to.
        groups: of channels.
        place: of a tensor.
    """

    windows: Windows
    pixels: Sizes
    groups: int
    place: Place

    @classmethod
    def of(cls, one: Operation, weight: Tensor, pixels: Sizes, place: Place) -> _Sliding:
        """As the numbers of an operator say."""
        axes = len(weight.shape) - 2
        stride, padding, dilation = (
            _each(one.numbers.get(name), axes, default)
            for name, default in (("stride", 1), ("padding", 0), ("dilation", 1))
        )
        windows = Windows(weight.shape[2:], dilation, tuple((step, 1) for step in stride), padding)
        return cls(windows, pixels, int(one.numbers.get("groups", 1)), place)

    def matrices(self, tensor: Tensor, kind: str) -> tuple[Matrix, ...]:
        """A tensor as a matrix, of each group of its channels."""
        axis = 0 if kind in {"weights", "turned"} else 1
        channels = tensor.shape[axis] // self.groups
        operand = self.place(tensor)
        return tuple(
            Matrix(operand, kind, self.pixels, self.windows, channels, group)
            for group in range(self.groups)
        )

    def product(
        self,
        left: tuple[Matrix, ...],
        right: tuple[Matrix, ...],
        out: tuple[Matrix, ...],
        extent: tuple[int, int, int],
        *,
        turned: bool = False,
    ) -> Launch:
        """The launch of a product of these matrices."""
        grid = (-(-extent[1] // TILE), -(-extent[0] // TILE), self.groups)
        return convolve[grid, 256](left, right, out, extent, turned)


def _product(
    one: Operation,
    place: Place,
    left: tuple[Tensor, str],
    right: tuple[Tensor, str],
    out: Tensor,
) -> Launch:
    """Pixels of the result × its channels; summed up over windows and channels."""
    sliding = _Sliding.of(one, right[0], out.shape[2:], place)
    sides = [sliding.matrices(*side) for side in (left, right, (out, "pixels"))]
    rows = out.shape[0] * prod(out.shape[2:])
    depth = left[0].shape[1] // sliding.groups * prod(sliding.windows.size)
    extent = rows, out.shape[1] // sliding.groups, depth
    return sliding.product(sides[0], sides[1], sides[2], extent)


def _of_weights(one: Operation, place: Place, small: Tensor, large: Tensor, out: Tensor) -> Launch:
    """Outer channels × elements of a window in inner channels; summed up over pixels."""
    sliding = _Sliding.of(one, out, small.shape[2:], place)
    pictures, windows = sliding.matrices(small, "pixels"), sliding.matrices(large, "patches")
    depth = small.shape[0] * prod(small.shape[2:])
    inner = large.shape[1] // sliding.groups * prod(sliding.windows.size)
    extent = small.shape[1] // sliding.groups, inner, depth
    weights = sliding.matrices(out, "weights")
    return sliding.product(pictures, windows, weights, extent, turned=True)


def pooled(one: Operation, place: Place) -> Iterator[Launch]:
    """A pool, or a resampled picture: an element of the result a thread."""
    source, out = one.inputs[0], one.outputs[0]
    targets = [target for target in one.outputs if target.shape == out.shape]
    axes = int(next(digit for digit in one.name if digit.isdigit()))
    ratio = tuple(zip(source.shape[-axes:], out.shape[-axes:], strict=True))
    sampled = next((n for word, n in SAMPLES.items() if f"_{word}" in one.name), 0)
    if sampled:
        size: Sizes = (sampled,) * axes
        windows = Windows(size, (1,) * axes, ratio, (0,) * axes)
    elif "adaptive" in one.name:
        size = tuple(-(-of // to) for of, to in ratio)
        windows = Windows(size, (1,) * axes, ratio, (0,) * axes)
    else:
        size = _each(one.numbers["kernel_size"], axes, 1)
        stride = _each(one.numbers.get("stride") or size, axes, 1)
        padding = _each(one.numbers.get("padding"), axes, 0)
        dilation = _each(one.numbers.get("dilation"), axes, 1)
        windows = Windows(size, dilation, tuple((step, 1) for step in stride), padding)
    yield pool[-(-out.count // THREADS) * THREADS](
        place(source), tuple(map(place, targets)), windows
    )
