"""Contents of a trace: instructions by kind, and the memory that they touch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from gpusim.core.warp_program import (
    INACTIVE,
    MEMORY_OPS,
    NO_INSTRUCTION,
    SECTOR_BYTES,
    Application,
    LaneChunk,
    Launch,
    Op,
)
from gpusim.traces.application import TraceLaunch
from gpusim.traces.lanes import LOCAL_REGION

PAGES = {"4 KiB": 4 << 10, "64 KiB": 64 << 10, "2 MiB": 2 << 20}
"""Page sizes to count by."""

SPACES = ("global", "local")
"""Memory spaces with sectors and pages; shared memory has none."""

_MEMORY_KINDS = tuple(sorted(MEMORY_OPS))


class DistinctSectors:
    """A set of sector numbers: 8 bytes each, whatever pages they lie in."""

    def __init__(self) -> None:
        self._known = np.zeros(0, dtype=np.int64)
        self._new: list[NDArray[np.int64]] = []
        self._waiting = 0

    def add(self, sectors: NDArray[np.int64]) -> None:
        """Add some; any shape, repeats allowed."""
        self._new.append(np.unique(sectors))
        self._waiting += len(self._new[-1])
        if self._waiting > len(self._known) + (1 << 16):
            self._merge()

    def _merge(self) -> None:
        self._known = np.unique(np.concatenate([self._known, *self._new]))
        self._new.clear()
        self._waiting = 0

    def count(self, unit_bytes: int = SECTOR_BYTES) -> int:
        """Number of distinct sectors, or of larger units that they lie in."""
        self._merge()
        return len(np.unique(self._known // (unit_bytes // SECTOR_BYTES)))


@define(eq=False)
class SpaceSurvey:
    """One memory space.

    Attributes:
        instructions: warp instructions by operation.
        sectors: 32-byte sectors asked for, counted once a warp instruction.
        distinct: those sectors, each once.
    """

    instructions: Counter[Op] = field(factory=Counter)
    sectors: int = 0
    distinct: DistinctSectors = field(factory=DistinctSectors)

    def to_json(self) -> dict[str, object]:
        """All counts by name."""
        distinct = self.distinct.count()
        return {
            **{f"{op.name.lower()}s": self.instructions[op] for op in _MEMORY_KINDS},
            "sectors": self.sectors,
            "distinct_sectors": distinct,
            "footprint_bytes": distinct * SECTOR_BYTES,
            "pages": {name: self.distinct.count(page) for name, page in PAGES.items()},
        }


@define(eq=False)
class Survey:
    """Counts over a whole application; `add` takes its launches one after the other.

    Attributes:
        kernels: launches by the kernel's name.
        blocks, warps: of all launches.
        instructions: warp instructions; waits are none.
        idle: memory instructions without an active lane, by memory space, where the trace tells
            them; they count as arithmetic.
        plain: those that access neither global nor local memory, by operation.
        spaces: global and local memory.
    """

    kernels: Counter[str] = field(factory=Counter)
    blocks: int = 0
    warps: int = 0
    instructions: int = 0
    idle: Counter[str] = field(factory=Counter)
    plain: Counter[Op] = field(factory=Counter)
    spaces: dict[str, SpaceSurvey] = field(
        factory=lambda: {space: SpaceSurvey() for space in SPACES}
    )

    def add(self, launch: Launch, warp_size: int) -> Iterable[int]:
        """Run all blocks of a launch; yields the number of blocks counted so far."""
        self.kernels[launch.name] += 1
        for block in range(launch.blocks):
            for chunk in launch.run_block(block, warp_size):
                self._add_chunk(chunk)
            self.blocks += 1
            self.warps += -(-launch.threads_per_block // warp_size)
            yield self.blocks
        if isinstance(launch, TraceLaunch):
            self.idle += launch.idle_accesses

    def to_json(self) -> dict[str, object]:
        """All counts by name."""
        return {
            "launches": sum(self.kernels.values()),
            "kernels": dict(self.kernels),
            "blocks": self.blocks,
            "warps": self.warps,
            "warp_instructions": self.instructions,
            "compute_instructions": self.plain[Op.COMPUTE] - self.idle.total(),
            "barriers": self.plain[Op.BARRIER],
            "memory_instructions": {
                **{
                    space: survey.instructions.total() + self.idle[space]
                    for space, survey in self.spaces.items()
                },
                "shared": self.plain[Op.SHARED] + self.idle["shared"],
            },
            "without_active_lane": {space: self.idle[space] for space in (*self.spaces, "shared")},
            **{space: survey.to_json() for space, survey in self.spaces.items()},
        }

    def _add_chunk(self, chunk: LaneChunk) -> None:
        warps = chunk.active.sum(axis=1)
        memory = np.isin(chunk.kind, _MEMORY_KINDS)
        compute = chunk.kind == Op.COMPUTE
        self.instructions += int(
            (warps * np.where(compute, chunk.arg, ~np.isin(chunk.kind, NO_INSTRUCTION))).sum()
        )
        self.plain[Op.COMPUTE] += int((warps * chunk.arg)[compute].sum())
        for op in (Op.SHARED, Op.BARRIER):
            self.plain[op] += int(warps[chunk.kind == op].sum())
        self._add_accesses(chunk.kind[memory], chunk.address)

    def _add_accesses(self, kind: NDArray[np.uint8], address: NDArray[np.int64]) -> None:
        """Accesses of (m,) kinds with (m, warps, lanes) addresses."""
        idle = address == INACTIVE
        for space, local in zip(SPACES, (False, True), strict=True):
            here = ~idle & ((address >= LOCAL_REGION) == local)
            if not here.any():
                continue
            survey = self.spaces[space]
            instructions = here.any(axis=2).sum(axis=1)
            for op in _MEMORY_KINDS:
                survey.instructions[op] += int(instructions[kind == op].sum())
            sector = np.sort(np.where(here, address // SECTOR_BYTES, INACTIVE), axis=2)
            first = sector != INACTIVE
            first[:, :, 1:] &= sector[:, :, 1:] != sector[:, :, :-1]
            survey.sectors += int(first.sum())
            survey.distinct.add(sector[first])


def survey_application(
    application: Application, warp_size: int, progress: Callable[[str, int], None] | None = None
) -> Survey:
    """Run an application without a machine, and count.

    Args:
        application: at the begin of its run.
        warp_size: threads of a warp.
        progress: called with the application's name and the number of blocks so far.
    """
    survey = Survey()
    for launch in application.launches():
        for blocks in survey.add(launch, warp_size):
            if progress is not None:
                progress(application.name, blocks)
    return survey
