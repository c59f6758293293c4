"""Topologies of a node: which links there are, and which of them a packet takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isqrt
from typing import Final

from attrs import frozen

SWITCH: Final = -1
"""The end of a link that is no GPU."""


@frozen(eq=False, repr=False)
class Topology:
    """The links of a node, each one way, and the routes over them.

    Attributes:
        ends: of each link, the GPU that sends into it and the GPU that receives; `SWITCH` for a
            switch.
        routes: by sending and receiving GPU, the links of the way in their order; none from a GPU
            to itself.
    """

    ends: Sequence[tuple[int, int]]
    routes: Sequence[Sequence[Sequence[int]]]


def make_topology(name: str, gpus: int) -> Topology:
    """The topology of a name for some GPUs.

    ``"all-to-all"``: a link between any two.  ``"switch"``: a link from each GPU to the switch and
    one back, so that a way takes two.  ``"ring"``: a packet takes the shorter way round, and that
    upwards where both are as long.  ``"mesh"``: GPUs lie in rows, as square as their number allows,
    and a packet moves along its row first, then along a column, so that no circle of waits can be.
    """
    return _MAKERS[name](gpus)


def _switch(gpus: int) -> Topology:
    up = [(gpu, SWITCH) for gpu in range(gpus)]
    down = [(SWITCH, gpu) for gpu in range(gpus)]
    routes = [
        [[] if source == target else [source, gpus + target] for target in range(gpus)]
        for source in range(gpus)
    ]
    return Topology(up + down, routes)


def _stepwise(gpus: int, step: Callable[[int, int], int]) -> Topology:
    """A topology in which a packet for `target` at `place` goes to ``step(place, target)``."""
    links: dict[tuple[int, int], int] = {}
    routes = []
    for source in range(gpus):
        ways = []
        for target in range(gpus):
            place, way = source, []
            while place != target:
                onward = step(place, target)
                way.append(links.setdefault((place, onward), len(links)))
                place = onward
            ways.append(way)
        routes.append(ways)
    return Topology(list(links), routes)


def _all_to_all(gpus: int) -> Topology:
    return _stepwise(gpus, lambda _, target: target)


def _ring(gpus: int) -> Topology:
    def step(place: int, target: int) -> int:
        up = (target - place) % gpus
        return (place + (1 if up <= gpus - up else -1)) % gpus

    return _stepwise(gpus, step)


def _mesh(gpus: int) -> Topology:
    width = columns(gpus)

    def step(place: int, target: int) -> int:
        there = target % width - place % width
        if there:
            return place + (1 if there > 0 else -1)
        return place + (width if target > place else -width)

    return _stepwise(gpus, step)


def columns(gpus: int) -> int:
    """GPUs in a row of a mesh: the number of rows is the largest divisor up to the root."""
    rows = next(rows for rows in range(isqrt(gpus), 0, -1) if gpus % rows == 0)
    return gpus // rows


_MAKERS: Final[Mapping[str, Callable[[int], Topology]]] = {
    "all-to-all": _all_to_all,
    "ring": _ring,
    "mesh": _mesh,
    "switch": _switch,
}
