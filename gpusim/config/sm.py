"""The table ``[sm]`` of a model: warps, issue, shared memory, arithmetic."""

from __future__ import annotations

from attrs import frozen

from gpusim.config.choices import choice_of
from gpusim.config.field_facts import later
from gpusim.core.policy import PolicyConfig
from gpusim.core.registry import Slot, policy_of
from gpusim.files.units import Bytes, Duration, cycles

SCOREBOARD = "scoreboard"
"""A warp goes on after a load from shared memory until it needs the value."""


@frozen
class UnitConfig:
    """Functional units of one kind, of one warp scheduler.

    Attributes:
        latency: cycles from the issue of an instruction to that of one that needs its result.
        interval: cycles of the units that an instruction takes.
    """

    latency: int
    interval: int = 1


@frozen
class ArithmeticConfig:
    """What arithmetic takes, by the units that execute it.

    Attributes:
        integer: integers, logic, moves, comparisons, control.
        fp32: single and half precision.
        fp64: double precision.
        special: transcendental functions and conversions.
        tensor: products of matrices.
    """

    integer: UnitConfig
    fp32: UnitConfig
    fp64: UnitConfig
    special: UnitConfig
    tensor: UnitConfig

    @property
    def units(self) -> tuple[UnitConfig, ...]:
        """By `gpusim.core.warp_program.Unit`."""
        return (self.integer, self.fp32, self.fp64, self.special, self.tensor)


@frozen
class SmConfig:
    """The streaming multiprocessors.

    Attributes:
        count: SMs of the GPU.
        warp_size: lanes of a warp, 32 or 64.
        simd_lanes: lanes that one scheduler issues a cycle; a 64-lane warp on 32 takes two.
        schedulers: warp schedulers of an SM, 1 to 4; warp slots are dealt out in turn.
        scheduler: warp scheduler policy.
        max_threads, max_warps, max_blocks, registers, shared_memory: occupancy limits of an SM.
        block_end: when a block gives its place to another: when its loads and stores are
            ``"answered"``, or when its loads are and its stores ``"sent"``.
        block_start: from a block's getting a place on an SM to its first instruction.
        lsu_width: transactions that the load/store unit starts at once.
        lsu_interval: cycles until it starts the next ones.
        lsu_queue: memory instructions that wait in front of it.
        max_loads: loads of one warp that may be outstanding.
        store_credits: stores of one SM that may be on their way.
        shared_latency: of one conflict-free shared-memory access.
        shared_loads: whether a warp waits for each of its shared-memory accesses (``"wait"``), or
            goes on until it needs the value of a load (``"scoreboard"``).
        arithmetic: what arithmetic takes; None: an issue cycle.
    """

    count: int
    warp_size: int = choice_of(32, 64)
    simd_lanes: int = 32
    schedulers: int = choice_of(1, 2, 3, 4, default=2)
    scheduler: PolicyConfig = policy_of(Slot.WARP_SCHEDULER, "gto")
    max_threads: int = 2048
    max_warps: int = 64
    max_blocks: int = 16
    registers: int = 65536
    shared_memory: Bytes = Bytes(48 << 10)
    block_start: Duration = later(cycles(1))
    block_end: str = later(choice_of("answered", "sent"))
    lsu_width: int = 1
    lsu_interval: int = later(1)
    lsu_queue: int = 8
    max_loads: int = 8
    store_credits: int = 64
    shared_latency: Duration = cycles(24)
    shared_loads: str = later(choice_of("wait", SCOREBOARD))
    arithmetic: ArithmeticConfig | None = None
