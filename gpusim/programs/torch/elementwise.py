"""Launches over the elements of tensors."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from gpusim.core.warp_program import Launch
from gpusim.programs.torch import kernels
from gpusim.programs.torch.kernels import EACH, THREADS, Place
from gpusim.programs.torch.tensors import Tensor


def over_elements(sources: Sequence[Tensor], targets: Sequence[Tensor], place: Place) -> Launch:
    """A launch over all elements of the first target, or of the first source if there is none.

    Args:
        sources: read, where they can be repeated to that shape.
        targets: written, where they have that shape.
        place: of a tensor.
    """
    first = (*targets, *sources)[0]
    shape = first.shape
    fitting = [one for one in targets if one.shape == shape]
    reads = [one.spread_to(shape) for one in sources if _spreads(one.shape, shape)]
    every = [*reads, *fitting]
    placed = (tuple(map(place, reads)), tuple(map(place, fitting)))
    if (
        len({one.size for one in every}) == 1
        and all(one.dense and one.offset % EACH == 0 for one in every)
        and not (first.count % EACH)
    ):
        return kernels.dense[-(-first.count // EACH)](*placed, first.count)
    return kernels.strided[-(-first.count // (EACH * THREADS)), THREADS](*placed, first.count)


def of_channels(tensor: Tensor, like: Tensor) -> Tensor:
    """A number a channel, as a tensor beside pictures of [pictures, channels, …]."""
    ones = (1,) * (len(like.shape) - 2)
    return evolve(tensor, shape=(*tensor.shape, *ones), strides=(*tensor.strides, *ones))


def _spreads(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """Whether a shape can be repeated to another one."""
    return len(shape) <= len(to) and all(
        one in {1, other} for one, other in zip(shape[::-1], to[::-1], strict=False)
    )
