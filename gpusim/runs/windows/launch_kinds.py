"""What makes launches alike: all that they say of themselves, but for addresses."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from enum import Enum
from typing import Any

import attrs
import numpy as np

from gpusim.core.warp_program import Launch
from gpusim.programs.device import DeviceArray
from gpusim.programs.kernel import Kernel
from gpusim.programs.kernel_function import KernelLaunch
from gpusim.workloads.sampling import SampledLaunch

Kind = Hashable
"""Launches of equal kinds are alike."""

_DEEPEST = 6
"""Arguments inside arguments, beyond which only the type counts."""

_LONGEST = 64
"""Items of an argument, beyond which only their number counts."""

_NOT_OF_A_KIND = ("shape", "stream_use")
"""Attributes of a `Kernel` that are no arguments; its shape counts anyhow."""


def kind_of(launch: Launch) -> Kind:
    """The kernel, grid, thread block, registers and shared memory, and sizes of its arguments."""
    if isinstance(launch, SampledLaunch):
        return kind_of(launch.launch), launch.blocks
    geometry: tuple[Hashable, ...] = (
        launch.name,
        launch.blocks,
        launch.threads_per_block,
        launch.registers_per_thread,
        launch.shared_bytes,
        0 if launch.copy is None else launch.copy.bytes,
    )
    if isinstance(launch, KernelLaunch):
        return geometry, launch.shape, _size_of(launch.arguments)
    if isinstance(launch, Kernel):
        names = [one.name for one in attrs.fields(type(launch)) if one.name not in _NOT_OF_A_KIND]
        return geometry, launch.shape, _size_of([getattr(launch, name) for name in names])
    return geometry


def _size_of(value: Any, depth: int = 0) -> Hashable:
    """What counts of an argument: numbers and sizes of arrays, no addresses and no contents."""
    if value is None or isinstance(value, bool | int | float | str | Enum):
        return value
    if isinstance(value, np.generic):
        return ("number", value.item())
    if isinstance(value, DeviceArray):
        return "array", value.element_bytes, value.length, value.is_blank
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape
    items = _items(value)
    count = -1 if items is None else len(items)
    known = items if items and count <= _LONGEST and depth < _DEEPEST else ()
    return type(value).__qualname__, count, tuple(_size_of(one, depth + 1) for one in known)


def _items(value: Any) -> Sequence[Any] | None:
    """What an argument is made of; None: it has no parts that count."""
    if isinstance(value, Mapping):
        return [*value.keys(), *value.values()]
    if isinstance(value, list | tuple):
        return value
    if attrs.has(type(value)):
        return [getattr(value, one.name) for one in attrs.fields(type(value))]
    return None
