"""Copies between arrays, and collectives of several GPUs that are made of them.

A copy is a launch: on a machine whose model has a table ``[node.copy_engines]`` an engine of its
GPU executes it, else SMs do, as the kernel that it also is.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from attrs import evolve, field, frozen

from gpusim.core.copies import Copy
from gpusim.core.errors import UserError
from gpusim.core.warp_program import Launch
from gpusim.programs.device import DeviceArray
from gpusim.programs.kernel_function import KernelLaunch, kernel
from gpusim.programs.tracer import BlockTracer

_THREADS = 256


@frozen
class Span:
    """Some elements of an array, side by side.

    Attributes:
        array: the array.
        first, count: number of the first element, and how many there are.
    """

    array: DeviceArray[Any]
    first: int
    count: int

    @property
    def address(self) -> int:
        """Of its first byte."""
        return self.array.base + self.first * self.array.element_bytes


@kernel("copy", registers=16, block=_THREADS)
def _copy(k: BlockTracer, target: Span, source: Span) -> None:
    """An element a thread."""
    where = k.t < source.count
    k.compute(4)
    values = k.load(source.array, source.first + k.t, where)
    k.wait(0, where)
    k.store(target.array, target.first + k.t, values, where)


@kernel("copy_add", registers=16, block=_THREADS)
def _copy_add(k: BlockTracer, target: Span, source: Span) -> None:
    """An element a thread, which is added to the other one in the L2 cache where that lies."""
    where = k.t < source.count
    k.compute(4)
    values = k.load(source.array, source.first + k.t, where)
    k.wait(0, where)
    k.reduce_add(target.array, target.first + k.t, values, where)


def copied(target: Span, source: Span, *, adds: bool = False) -> KernelLaunch:
    """A launch that copies elements, perhaps to the memory of another GPU.

    Args:
        target: where they go.
        source: where they are; as many of the same size.
        adds: they are added to those of the target.

    Raises:
        UserError: both have not as many bytes, or are not in their arrays.
    """
    for span in (target, source):
        if not 0 <= span.first <= span.first + span.count <= span.array.length:
            raise UserError(
                f"a copy of elements {span.first} to {span.first + span.count - 1} of "
                f"{span.array.name!r}, which has {span.array.length}"
            )
    if (target.count, target.array.element_bytes) != (source.count, source.array.element_bytes):
        raise UserError(
            f"a copy of {source.count} elements of {source.array.element_bytes} bytes of "
            f"{source.array.name!r} to {target.count} of {target.array.element_bytes} of "
            f"{target.array.name!r}; both must be alike"
        )
    size = source.count * source.array.element_bytes
    does = Copy(source.address, target.address, size, adds, partial(_perform, target, source, adds))
    made = _copy_add if adds else _copy
    return evolve(made[max(source.count, 1)](target, source), copy=does)


def _perform(target: Span, source: Span, adds: bool) -> None:
    if source.array.is_blank or target.array.is_blank:
        return
    values = source.array.data[source.first : source.first + source.count]
    place = slice(target.first, target.first + target.count)
    target.array.data[place] = target.array.data[place] + values if adds else values


def peer_copy(target: DeviceArray[Any], source: DeviceArray[Any]) -> KernelLaunch:
    """A launch that copies an array to another one of its size, by the GPU where the source lies.

    CUDA's cudaMemcpyPeerAsync; ``.on`` gives it another GPU or stream.
    """
    launch = copied(Span(target, 0, target.length), Span(source, 0, source.length))
    return launch if source.gpu is None else launch.on(gpu=source.gpu)


@frozen
class Collective:
    """Copies that together do something with an array of each of several GPUs.

    Attributes:
        launches: in an order in which a program may launch them.
        arrived: by GPU, those after which its array is what it shall be.
    """

    launches: tuple[Launch, ...]
    arrived: tuple[tuple[Launch, ...], ...]


@frozen
class _Ring:
    """A ring of GPUs, each of which sends to the next one.

    Attributes:
        arrays: by GPU.
        stream: of the copies, on each GPU.
        launches: so far.
        last: by GPU, the copy that came to it last; before the first one, what it waits for.
    """

    arrays: Sequence[DeviceArray[Any]]
    stream: int
    launches: list[KernelLaunch] = field(factory=list)
    last: list[tuple[object, ...]] = field(factory=list)

    def step(self, first_part: int, adds: bool) -> None:
        """GPU *g* sends part ``g + first_part`` to the next one."""
        count, length = len(self.arrays), self.arrays[0].length
        sent = []
        for gpu, own in enumerate(self.arrays):
            part = (gpu + first_part) % count
            first, end = length * part // count, length * (part + 1) // count
            there = self.arrays[(gpu + 1) % count]
            launch = copied(
                Span(there, first, end - first), Span(own, first, end - first), adds=adds
            )
            sent.append(launch.on(self.stream, gpu=gpu, after=self.last[gpu]))
        self.launches.extend(sent)
        self.last[:] = [(sent[gpu - 1],) for gpu in range(count)]

    def lap(self, first_part: int, adds: bool) -> None:
        """Each part goes round to all other GPUs; GPU *g* begins with part ``g + first_part``."""
        for step in range(len(self.arrays) - 1):
            self.step(first_part - step, adds)


def _ring(arrays: Sequence[DeviceArray[Any]], stream: int, after: Sequence[object]) -> _Ring:
    if len({(array.length, array.element_bytes) for array in arrays}) != 1:
        raise UserError(
            "a collective takes an array of each GPU, all of the same size; given: "
            + (", ".join(f"{array.name!r} of {array.bytes} B" for array in arrays) or "none")
        )
    return _Ring(arrays, stream, last=[tuple(after) for _ in arrays])


def _made(ring: _Ring) -> Collective:
    arrived = tuple(
        tuple(one for one in last if isinstance(one, KernelLaunch)) for last in ring.last
    )
    return Collective(tuple(ring.launches), arrived)


def ring_all_reduce(
    arrays: Sequence[DeviceArray[Any]], *, stream: int = 0, after: Sequence[object] = ()
) -> Collective:
    """Every array becomes the sum of all: a reduce-scatter, then an all-gather, round a ring.

    Patarasuk, Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC
    2009: each GPU sends 2 (n - 1) / n of its array to the next one.  Additions are those of the L2
    cache where an array lies [our choice; NCCL's are those of SMs].

    Args:
        arrays: one of each GPU, in the order of the ring: that of GPU *g* is the *g*-th.
        stream: of the copies, on each GPU.
        after: launches that have to end before the first copy, on whatever GPU.

    Raises:
        UserError: they are not of one size.
    """
    ring = _ring(arrays, stream, after)
    ring.lap(0, adds=True)
    ring.lap(1, adds=False)
    return _made(ring)


def ring_reduce_scatter(
    arrays: Sequence[DeviceArray[Any]], *, stream: int = 0, after: Sequence[object] = ()
) -> Collective:
    """Part *(g + 1) mod n* of the array of GPU *g* becomes the sum of all, round a ring.

    Args:
        arrays: see `ring_all_reduce`.
        stream: see `ring_all_reduce`.
        after: see `ring_all_reduce`.
    """
    ring = _ring(arrays, stream, after)
    ring.lap(0, adds=True)
    return _made(ring)


def ring_all_gather(
    arrays: Sequence[DeviceArray[Any]], *, stream: int = 0, after: Sequence[object] = ()
) -> Collective:
    """Part *g* of the array of GPU *g* comes to all others, round a ring.

    Args:
        arrays: see `ring_all_reduce`.
        stream: see `ring_all_reduce`.
        after: see `ring_all_reduce`.
    """
    ring = _ring(arrays, stream, after)
    ring.lap(0, adds=False)
    return _made(ring)
