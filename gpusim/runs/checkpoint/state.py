"""The contents of a checkpoint: for each application, skipped launches, arrays and accesses."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.config.node import NodeConfig
from gpusim.config.schema import GpuConfig
from gpusim.core.policy import PolicyConfig
from gpusim.core.warp_program import Launch
from gpusim.runs.checkpoint.changes import Changes

ENDED = -1
"""In `SkippedLaunch.pieces`: the block whose turn it was has ended."""

AGAIN = -2
"""In `SkippedLaunch.pieces`: the next piece is of the same turn as the piece before."""

PAGE_SHIFT = 12
"""Pages are kept in the smallest size that a machine can have."""


@frozen(eq=False, repr=False)
class Accesses:
    """Transactions in order.

    Attributes:
        lines: virtual line numbers.
        sectors: of each, as in `gpusim.core.warp_program.Segment`, with those that stores cover.
        kinds: of each, a `gpusim.core.request.Kind`.
    """

    lines: NDArray[np.int64]
    sectors: NDArray[np.int64]
    kinds: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.lines)


@frozen(eq=False, repr=False)
class LastAccesses(Accesses):
    """The last transaction of each kind to each line from each SM, in order.

    Attributes:
        homes: of each, the position of its SM among those of the application.
        slots: of each, the block slot there.
        sectors: those of all transactions to the line together.
    """

    homes: NDArray[np.int64]
    slots: NDArray[np.int64]


@frozen
class Shape:
    """By what a launch is known again.

    Attributes:
        kernel: its name.
        blocks, threads_per_block, registers_per_thread, shared_bytes: as of a
            `gpusim.core.warp_program.Launch`.
    """

    kernel: str
    blocks: int
    threads_per_block: int
    registers_per_thread: int
    shared_bytes: int

    @classmethod
    def of(cls, launch: Launch) -> Shape:
        """The shape of a launch."""
        return cls(
            launch.name,
            launch.blocks,
            launch.threads_per_block,
            launch.registers_per_thread,
            launch.shared_bytes,
        )

    def __str__(self) -> str:
        return f"{self.kernel} of {self.blocks} blocks of {self.threads_per_block} threads"


@frozen(eq=False, repr=False)
class SkippedLaunch:
    """One launch that is skipped, as a whole or its first blocks.

    Attributes:
        shape: of the whole launch.
        begun: its blocks that are skipped.
        instructions: of them, of warps.
        pieces: how many transactions each piece has that a block executes when it is its turn;
            `ENDED` instead of one, `AGAIN` between two of one turn.
        pages: of `PAGE_SHIFT`, that the application accesses for the first time, in order.
        homes: of each, the position of the SM that does.
        changes: what it changes in the program's arrays.
    """

    shape: Shape
    begun: int
    instructions: int
    pieces: NDArray[np.int64]
    pages: NDArray[np.int64]
    homes: NDArray[np.int64]
    changes: Changes


@frozen(eq=False, repr=False)
class SkippedApplication:
    """What is skipped of an application.

    Attributes:
        name: its name.
        sms: how many it has.
        arrays: hash of the contents of its arrays before its first launch.
        launches: in order.
        last: of its transactions before those in `whole`.
        whole: its last transactions, all of them.
    """

    name: str
    sms: int
    arrays: str
    launches: tuple[SkippedLaunch, ...]
    last: LastAccesses
    whole: Accesses

    @property
    def accesses(self) -> int:
        """Transactions that are skipped."""
        return sum(int(one.pieces[one.pieces > 0].sum()) for one in self.launches)

    @property
    def before(self) -> int:
        """Transactions of which only `last` tells."""
        return self.accesses - len(self.whole)


@frozen(eq=False, repr=False)
class Checkpoint:
    """What of a workload is skipped, for every machine of as many SMs with the same limits.

    Attributes:
        gpusim: version that made it.
        model: on which it was made.
        workload, scale, seed: what was run.
        parameters: of the workload, as `gpusim.workloads.workload.Workload.to_toml` has them.
        skipped: of each application, in words.
        requires: keys and values of a machine that must be the same: `requirements`.
        applications: in the order of their address spaces.
    """

    gpusim: str
    model: str
    workload: str
    scale: str
    seed: int
    parameters: str
    skipped: str
    requires: Mapping[str, str]
    applications: tuple[SkippedApplication, ...]


def requirements(config: GpuConfig) -> dict[str, str]:
    """What of a machine decides which transactions there are, and in which order."""
    sm = config.sm
    limits = ("warp_size", "max_threads", "max_warps", "max_blocks", "registers", "shared_memory")
    return {
        "l1.line": str(config.l1.line),
        **{f"sm.{name}": str(getattr(sm, name)) for name in limits},
        "side caches": ", ".join(config.side_caches) or "none",
        "block_scheduler": _in_words(config.block_scheduler),
        **({} if config.node is None else _of_node(config.node)),
    }


def _in_words(policy: PolicyConfig) -> str:
    return " ".join([policy.policy, *(f"{k}={v}" for k, v in sorted(policy.options.items()))])


def _of_node(node: NodeConfig) -> dict[str, str]:
    """How many GPUs share the blocks of a launch, and how."""
    return {"node.gpus": str(node.gpus), "node.blocks": _in_words(node.blocks)}
