"""Thread blocks that are executed together: their registers, memories and numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from attrs import define, frozen
from numpy.typing import NDArray

from gpusim.programs.tracer import Shape
from gpusim.ptx.device_memory import AccessError, DeviceMemory
from gpusim.ptx.frame import Frame, Lanes
from gpusim.ptx.layout import Layout
from gpusim.ptx.record import WARP, Record, Threads
from gpusim.ptx.values import UnsupportedError, Value
from gpusim.ptx.windows import SPACES, spaces_of, within

EXITED = 1 << 30
"""The place of a thread that has ended."""

WAITING = 1 << 29
"""The place of a thread that waits for others."""


@frozen(eq=False)
class Site:
    """What all blocks of a launch have in common.

    Attributes:
        shape: grid and block.
        layout: of variables.
        memory: global memory.
        symbols: addresses of global variables.
        parameters: contents of the kernel's parameters.
        shared_bytes: shared memory of a block, with what the launch adds.
    """

    shape: Shape
    layout: Layout
    memory: DeviceMemory
    symbols: dict[str, int]
    parameters: NDArray[np.uint8]
    shared_bytes: int


@define(eq=False)
class Part:
    """A part of an access: (n,) byte offsets in one memory, of those threads of a frame."""

    space: str
    data: NDArray[np.uint8]
    which: Any
    offset: Value


def threads_of(shape: Shape, blocks: Sequence[int]) -> Threads:
    """The threads of some blocks of a launch."""
    own = shape.threads
    padded = -(-own // WARP) * WARP
    number = np.asarray(blocks)[:, None] * own + np.minimum(np.arange(padded), own - 1)
    return Threads(padded * len(blocks), number.ravel(), shape.blocks * own)


class Batch:
    """Some thread blocks of a launch in execution.

    Attributes:
        site: of the launch.
        blocks: their numbers.
        threads: theirs.
        place: (threads,) int32, the basic block at which each thread is, `WAITING` or `EXITED`.
        registers: of all threads, by their numbers: (threads,), one for all, or None.
        record: what is recorded; None: nothing.
        pending: by register, (warps,) the number of the load that fills it, from 1 on.
        steps: basic blocks executed so far.
        arrived: threads that came to a barrier and went on, by thread block and barrier.
        changed: whether a barrier in shared memory changed since threads last looked at it.
    """

    def __init__(self, site: Site, blocks: Sequence[int], record: Record | None) -> None:
        self.site = site
        self.blocks = np.asarray(blocks, np.int64)
        self.threads = threads_of(site.shape, blocks)
        count = self.threads.count
        self.per_block = count // len(self.blocks)
        self.in_block: Lanes = np.tile(np.arange(self.per_block), len(self.blocks))
        self.slot: Lanes = np.repeat(np.arange(len(self.blocks)), self.per_block)
        self.place = np.where(self.in_block < site.shape.threads, 0, EXITED).astype(np.int32)
        self.all_warps = np.ones(self.threads.warps, bool)
        self.registers: list[Any] = []
        self.record = record
        self.changed = False
        self.arrived: Counter[tuple[int, int]] = Counter()
        self.steps = 0
        self._shared_bytes = -(-site.shared_bytes // 16) * 16
        self._shared = np.zeros(max(self._shared_bytes, 16) * len(self.blocks), np.uint8)
        self._local_bytes = -(-site.layout.size["local"] // 16) * 16
        self._local = np.zeros(max(self._local_bytes, 16) * count, np.uint8)
        self._specials: dict[str, Value] = {}
        self.pending: dict[int, Lanes] = {}

    # -- memories ----------------------------------------------------------------------------------

    def parts(self, frame: Frame, space: str, address: Value, bytes_: int) -> list[Part]:
        """An access by the memories that it goes to.

        Args:
            frame: the threads.
            space: ``""`` for generic addresses.
            address: (threads,) int64, or one for all.
            bytes_: of each.

        Raises:
            AccessError: it goes where nothing is.
        """
        return self.parts_of(frame.lanes, space, address, bytes_)

    def parts_of(self, lanes: Lanes | None, space: str, address: Value, bytes_: int) -> list[Part]:
        """As `parts`, of some threads (None: all)."""
        if space == "":
            numbers = spaces_of(address)
            first = int(np.ravel(numbers)[0])
            if not (numbers == first).all():
                return self._mixed(lanes, numbers, address, bytes_)
            if not 0 <= first < len(SPACES):
                raise AccessError(f"address {int(np.ravel(address)[0]):#x} lies in no memory")
            space, address = SPACES[first], within(address)
        if space == "global":
            return [
                Part("global", array.data, which, offset)
                for array, which, offset in self.site.memory.parts(address, bytes_)
            ]
        return [self._own(lanes, space, address, bytes_)]

    def _mixed(
        self, lanes: Lanes | None, numbers: Value, address: Value, bytes_: int
    ) -> list[Part]:
        found: list[Part] = []
        for number in np.unique(numbers).tolist():
            which = np.flatnonzero(numbers == number)
            some = which if lanes is None else lanes[which]
            for part in self.parts_of(some, "", address[which], bytes_):
                part.which = which if part.which is ... else which[part.which]
                found.append(part)
        return found

    def _own(self, lanes: Lanes | None, space: str, address: Value, bytes_: int) -> Part:
        """In shared, local, constant or parameter memory."""
        limit = {
            "shared": self.site.shared_bytes,
            "local": self.site.layout.size["local"],
            "const": self.site.layout.constants.size,
            "param": self.site.parameters.size,
        }[space]
        low, high = int(address.min()), int(address.max()) + bytes_
        if low < 0 or high > limit:
            wrong = low if low < 0 else high - bytes_
            raise AccessError(
                f"{bytes_} bytes at {wrong:#x} of {space} memory, which has {limit} bytes"
            )
        if (address & np.int64((bytes_ & -bytes_) - 1)).any():
            raise AccessError(f"an address in {space} memory is no multiple of {bytes_} bytes")
        if space == "const":
            return Part(space, self.site.layout.constants, ..., address)
        if space == "param":
            return Part(space, self.site.parameters, ..., address)
        if space == "shared":
            slots = self.slot if lanes is None else self.slot[lanes]
            return Part(space, self._shared, ..., address + slots * self._shared_bytes)
        numbers = np.arange(self.threads.count) if lanes is None else lanes
        return Part(space, self._local, ..., address + numbers * self._local_bytes)

    # -- special registers -------------------------------------------------------------------------

    def special(self, name: str) -> Value:
        """A register that is read only: (threads,), or one for all.

        Raises:
            UnsupportedError: it has no value here.
        """
        if name in {"%clock", "%clock64", "%clock_hi", "%globaltimer", "%globaltimer_lo"}:
            return np.uint64(self.steps) if name[-2:] in {"64", "er"} else np.uint32(self.steps)  # type: ignore[return-value]
        found = self._specials.get(name)
        if found is None:
            found = self._specials[name] = self._make(name)
        return found

    def _make(self, name: str) -> Value:
        base, _, axis = name.partition(".")
        if axis in {"x", "y", "z"}:
            return self._of_axis(base, "xyz".index(axis))
        own = self.in_block
        lane = (own % WARP).astype(np.uint32)
        made: dict[str, Callable[[], Any]] = {
            "%laneid": lambda: lane,
            "%warpid": lambda: (own // WARP).astype(np.uint32),
            "%nwarpid": lambda: np.uint32(self.per_block // WARP),
            "%lanemask_eq": lambda: np.uint32(1) << lane,
            "%lanemask_lt": lambda: (np.uint32(1) << lane) - np.uint32(1),
            "%lanemask_le": lambda: (np.uint32(2) << lane) - np.uint32(1),
            "%lanemask_gt": lambda: ~((np.uint32(2) << lane) - np.uint32(1)),
            "%lanemask_ge": lambda: ~((np.uint32(1) << lane) - np.uint32(1)),
            "%dynamic_smem_size": lambda: np.uint32(
                self.site.shared_bytes - self.site.layout.size["shared"]
            ),
            "%total_smem_size": lambda: np.uint32(self.site.shared_bytes),
            "%gridid": lambda: np.uint64(1),
            "%cluster_ctarank": lambda: np.uint32(0),
            "%cluster_nctarank": lambda: np.uint32(1),
        }
        if name not in made:
            raise UnsupportedError(f"the register {name} has no value without a machine")
        value: Value = made[name]()
        return value

    def _of_axis(self, base: str, axis: int) -> Value:
        grid, block = self.site.shape
        if base == "%ntid":
            return np.uint32(block[axis])  # type: ignore[return-value]
        if base == "%nctaid":
            return np.uint32(grid[axis])  # type: ignore[return-value]
        if base == "%tid":
            x, y, _ = block
            own = self.in_block
            return (own % x, own // x % y, own // (x * y))[axis].astype(np.uint32)
        if base == "%ctaid":
            x, y, _ = grid
            number = self.blocks
            mine = (number % x, number // x % y, number // (x * y))[axis].astype(np.uint32)
            return mine[0] if len(mine) == 1 else np.repeat(mine, self.per_block)
        if base in {"%cluster_ctaid", "%clusterid"}:
            return np.uint32(0)  # type: ignore[return-value]
        if base in {"%cluster_nctaid", "%nclusterid"}:
            return np.uint32(1)  # type: ignore[return-value]
        raise UnsupportedError(f"the register {base} has no value without a machine")
