"""Addresses in memory as a workload: an array of what each lane of each warp accesses."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypedDict, Unpack

import numpy as np
from attrs import Attribute, define, field
from numpy.typing import ArrayLike, NDArray

from gpusim.core.errors import UserError
from gpusim.core.warp_program import (
    INACTIVE,
    NOTHING_ASKED,
    SECTOR_BYTES,
    Asked,
    LaneChunk,
    Op,
)
from gpusim.traces.application import TraceApplication, TraceLaunch
from gpusim.traces.options import trace_options
from gpusim.workloads.builder import ApplicationSpec
from gpusim.workloads.workload import Workload

_STEPS = 256
"""Steps of a chunk."""

_WIDTH = 4
_WIDTHS = (1, 2, 4, 8, 16)
_LANES = (32, 64)
_HIGHEST = 1 << 48
"""Addresses are below it."""


class AddressOptions(TypedDict, total=False):
    """How warps access the addresses of an array; see `workload_of`."""

    width: int
    compute: int
    in_flight: int
    warps_per_block: int


def workload_of(
    addresses: ArrayLike,
    *,
    stores: Sequence[bool] | None = None,
    name: str = "addresses",
    arrays: Sequence[tuple[int, int]] = (),
    **options: Unpack[AddressOptions],
) -> Workload:
    """A workload of one launch, whose warps access the addresses of an array.

    Args:
        addresses: (warps, steps, lanes) bytes, 32 or 64 lanes; -1 where a lane takes no part.
        stores: (steps,) whether a step stores; default: all load.
        name: for results.
        arrays: base address and bytes of each array; where pages come on demand, what lies in none
            of them is inferred from what is touched.
        **options: `width`, bytes that each lane accesses: 1, 2, 4 (default), 8 or 16; `compute`,
            arithmetic instructions before each access (0); `in_flight`, loads of a warp that may
            be under way when it makes the next one (1); `warps_per_block`: the warps, in order,
            make thread blocks of this many warps (8).

    Raises:
        UserError: the array has another shape or type, or something cannot be.
    """
    array = np.asarray(addresses)
    steps = _check(array, options.get("width", _WIDTH))
    kinds = np.zeros(steps, bool) if stores is None else np.asarray(stores, bool)
    if kinds.shape != (steps,):
        raise UserError(f"stores has the shape {kinds.shape}: must be ({steps},), one a step")
    stated = trace_options({"arrays": list(arrays)} if arrays else {})
    application = AddressApplication(
        name=name, addresses=array.astype(np.int64), stores=kinds, **options
    )
    digest = hashlib.sha256(application.addresses.tobytes() + kinds.tobytes()).hexdigest()
    origin: dict[str, object] = {
        "addresses": list(array.shape),
        "sha256": digest,
        "width": application.width,
        "compute": application.compute,
        "in_flight": application.in_flight,
        "warps_per_block": application.warps_per_block,
        **({"arrays": [list(one) for one in arrays]} if arrays else {}),
    }
    start = stated.applied(application).start
    spec = ApplicationSpec(name, start, origin=origin, warp_size=array.shape[2])
    return Workload(name, "array", 0, (spec,))


def _check(array: NDArray[Any], width: int) -> int:
    """Refuse what are no addresses; returns the number of steps."""
    if array.ndim != 3 or 0 in array.shape or array.dtype.kind not in "iu":
        raise UserError(
            f"addresses are an array of shape {array.shape} and type {array.dtype}: must be whole "
            "numbers in three dimensions, warps × steps × lanes, none of them empty"
        )
    if array.shape[2] not in _LANES:
        raise UserError(f"addresses have {array.shape[2]} lanes: must be 32 or 64")
    if width not in _WIDTHS:
        raise UserError(f"width = {width!r}: must be one of {', '.join(map(str, _WIDTHS))}")
    wrong = (
        (array < INACTIVE) | (array >= _HIGHEST) if array.dtype.kind == "i" else (array >= _HIGHEST)
    )
    wrong |= (array % SECTOR_BYTES + width > SECTOR_BYTES) & (array != INACTIVE)
    if wrong.any():
        warp, step, lane = (int(one) for one in np.argwhere(wrong)[0])
        raise UserError(
            f"addresses[{warp}, {step}, {lane}] = {array[warp, step, lane]}: must be -1, or at "
            f"least 0 and below 2**48, and its {width} bytes in one sector of {SECTOR_BYTES}"
        )
    return int(array.shape[1])


def _at_least(least: int) -> Callable[[object, Attribute[int], int], None]:
    """Refuses what is no whole number of `least` or more."""

    def check(_application: object, attribute: Attribute[int], value: int) -> None:
        if type(value) is not int or value < least:
            raise UserError(
                f"{attribute.name} = {value!r}: must be a whole number of {least} or more"
            )

    return check


@define(kw_only=True, eq=False)
class AddressLaunch(TraceLaunch):
    """The only launch.  Attributes as of `AddressApplication`."""

    application: AddressApplication

    def chunks(self, block: int, asked: Asked = NOTHING_ASKED) -> Iterator[LaneChunk]:
        own, warps = self.application, self.warps_per_block
        part = own.addresses[block * warps : (block + 1) * warps]
        for begin in range(0, part.shape[1], _STEPS):
            piece = np.full((min(_STEPS, part.shape[1] - begin), warps, part.shape[2]), INACTIVE)
            piece[:, : len(part)] = part[:, begin : begin + _STEPS].transpose(1, 0, 2)
            yield own.chunk(piece, own.stores[begin : begin + _STEPS])


@define(kw_only=True, eq=False)
class AddressApplication(TraceApplication):
    """An application made of addresses, by the arguments of `workload_of`.

    Attributes:
        addresses: (warps, steps, lanes) int64.
        stores: (steps,) bool.
        width, compute, in_flight, warps_per_block: as there.
    """

    addresses: NDArray[np.int64]
    stores: NDArray[np.bool_]
    width: int = _WIDTH
    compute: int = field(default=0, validator=_at_least(0))
    in_flight: int = field(default=1, validator=_at_least(1))
    warps_per_block: int = field(default=8, validator=_at_least(1))

    def read_launches(self) -> Iterator[TraceLaunch]:
        warps, _, lanes = self.addresses.shape
        yield AddressLaunch(
            name=self.name,
            blocks=-(-warps // self.warps_per_block),
            threads_per_block=self.warps_per_block * lanes,
            warp_size=lanes,
            application=self,
        )

    def chunk(self, address: NDArray[np.int64], stores: NDArray[np.bool_]) -> LaneChunk:
        """Some steps of a block: arithmetic, an access, and a wait for loads, each."""
        steps = len(stores)
        takes_part = (address != INACTIVE).any(axis=2)
        before = [(Op.COMPUTE, self.compute)] if self.compute else []
        each = len(before) + 2
        kind = np.zeros((steps, each), np.uint8)
        arg = np.zeros((steps, each), np.int64)
        for place, (op, number) in enumerate(before):
            kind[:, place], arg[:, place] = op, number
        kind[:, -2] = np.where(stores, Op.STORE, Op.LOAD)
        kind[:, -1], arg[:, -1] = Op.WAIT, self.in_flight - 1
        return LaneChunk(
            kind.ravel(),
            arg.ravel(),
            np.repeat(takes_part, each, axis=0),
            address,
            np.full(steps, self.width, np.int64),
        )
