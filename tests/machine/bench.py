"""A bench for whole machines: scripted warps, a small GPU, and what every load took."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs
import numpy as np

from gpusim.config.dram_standards.gddr5 import GDDR5
from gpusim.config.schema import (
    CrossbarConfig,
    GpuConfig,
    L1Config,
    L2Config,
    MemoryConfig,
    PolicyConfig,
)
from gpusim.config.sm import SmConfig
from gpusim.config.translation import TlbConfig, WalkConfig
from gpusim.core.request import MemoryRequest
from gpusim.core.streams import IN_TURN, StreamUse
from gpusim.core.warp_program import INACTIVE, MEMORY_OPS, SIDE_OPS, Buffer, LaneChunk, Launch, Op
from gpusim.files.units import Bytes, Hertz, cycles
from gpusim.machine import Machine, Tenant
from gpusim.runs.run import run_machine

Script = Sequence[tuple[Any, ...]]
"""Operations of one warp: ``("load", address, ...)``, ``("compute", n)``, ``("wait",)`` …;
a memory operation gives one address a lane."""

_OPS = {op.name.lower(): op for op in Op}
_MEMORY = (*MEMORY_OPS, *SIDE_OPS.values())


@attrs.define
class ScriptedLaunch:
    """Blocks whose warps each run a script; all scripts of a block are padded to one chunk each."""

    scripts: Sequence[Sequence[Script]]
    name: str = "scripted"
    registers_per_thread: int = 16
    shared_bytes: int = 0
    warp_size: int = 32
    stream_use: StreamUse = IN_TURN
    copy: None = None

    @property
    def blocks(self) -> int:
        return len(self.scripts)

    @property
    def threads_per_block(self) -> int:
        return self.warp_size * len(self.scripts[0])

    def run_block(self, block: int, warp_size: int) -> Iterator[LaneChunk]:
        warps = self.scripts[block]
        for index, script in enumerate(warps):
            for operation in script:
                yield _chunk(operation, index, len(warps), warp_size)


def _chunk(operation: tuple[Any, ...], warp: int, warps: int, lanes: int) -> LaneChunk:
    op = _OPS[operation[0]]
    active = np.zeros((1, warps), dtype=bool)
    active[0, warp] = True
    memory = op in _MEMORY
    address = np.full((int(memory), warps, lanes), INACTIVE, dtype=np.int64)
    if memory:
        address[0, warp, : len(operation) - 1] = operation[1:]
    arg = 0 if memory or len(operation) < 2 else operation[1]
    return LaneChunk(
        np.array([op], dtype=np.uint8),
        np.array([arg]),
        active,
        address,
        np.full(int(memory), 4, dtype=np.int64),
    )


@attrs.define
class ScriptedApplication:
    """Launches one after the other."""

    kernels: Sequence[Launch]
    name: str = "scripted"
    buffers: tuple[Buffer, ...] = ()

    def launches(self) -> Iterator[Launch]:
        yield from self.kernels


SMALL = GpuConfig(
    name="bench",
    clock=Hertz(1_000_000_000),
    sm=SmConfig(count=1, schedulers=1),
    l1=L1Config(size=Bytes(16 << 10), ways=4, latency=cycles(4)),
    tlb={
        "L1": TlbConfig("sm", entries=16, ways=16, latency=cycles(1)),
        "L2": TlbConfig("gpu", entries=64, ways=16, latency=cycles(10)),
    },
    walk=WalkConfig(walkers=8, cost="fixed", latency=cycles(500)),
    l2=L2Config(size=Bytes(128 << 10), ways=8, banks=1, latency=cycles(10)),
    dram=attrs.evolve(
        GDDR5,
        clock=Hertz(1_000_000_000),
        ideal=True,
        ideal_latency=cycles(100),
        mapping="row bank bank-group column channel column:1",
    ),
    crossbar=CrossbarConfig(latency=cycles(8), bytes_per_cycle=32),
    memory=MemoryConfig(size=Bytes(1 << 30), frames=PolicyConfig("first-touch")),
)
"""One SM: L1 TLB 1, L1 4, crossbar 8, L2 TLB 10, L2 10, DRAM 100 (no bank timing), walk 500."""


def change(config: GpuConfig, **tables: dict[str, Any]) -> GpuConfig:
    """`config` with some attributes of some tables changed: ``change(SMALL, l1={"mshrs": 1})``."""
    new = {name: attrs.evolve(getattr(config, name), **keys) for name, keys in tables.items()}
    return attrs.evolve(config, **new)


class Run:
    """One finished run and what it left.

    Attributes:
        machine: the machine, drained and checked.
        loads: ``(cycle of issue, cycle of the answer)`` of each transaction, by end and issue.
        requests: the transactions themselves, in the same order.
    """

    def __init__(self, config: GpuConfig, *scripts: Script, blocks: int = 1) -> None:
        launch = ScriptedLaunch([list(scripts)] * blocks, warp_size=config.sm.warp_size)
        application = ScriptedApplication([launch])
        self._run(config, [Tenant("scripted", application, range(config.sm.count))])

    @classmethod
    def of(
        cls,
        config: GpuConfig,
        tenants: Sequence[Tenant],
        attach: Callable[[Machine], None] | None = None,
    ) -> Run:
        """A run of whole applications; `attach` is given the machine before its first cycle."""
        made = cls.__new__(cls)
        made._run(config, tenants, attach)
        return made

    @classmethod
    def meanwhile(
        cls, config: GpuConfig, attach: Callable[[Machine], None], *scripts: Script
    ) -> Run:
        """A run of one block while something else happens in the machine."""
        launch = ScriptedLaunch([list(scripts)], warp_size=config.sm.warp_size)
        application = ScriptedApplication([launch])
        return cls.of(config, [Tenant("scripted", application, range(config.sm.count))], attach)

    def _run(
        self,
        config: GpuConfig,
        tenants: Sequence[Tenant],
        attach: Callable[[Machine], None] | None = None,
    ) -> None:
        finished: list[tuple[int, int, MemoryRequest]] = []
        self.machine = Machine(config, tenants, seed=0)
        for sm in self.machine.sms:
            sm.lsu.on_request.listen(lambda r, begin, end: finished.append((begin, end, r)))
        if attach is not None:
            attach(self.machine)
        run_machine(self.machine)
        self.loads = [(begin, end) for begin, end, _ in finished]
        self.requests = [request for _, _, request in finished]

    @property
    def latencies(self) -> list[int]:
        """Cycles from issue to answer, in the order of `loads`."""
        return [end - begin for begin, end in self.loads]

    @property
    def cycles(self) -> int:
        """Cycle in which the (last) application ended."""
        return max(scheduler.finished_at for scheduler in self.machine.schedulers)

    def count(self, component: str, counter: str, app: str | None = None) -> int:
        """A counter, summed over instances (and applications)."""
        return sum(
            row.value
            for row in self.machine.counter_rows()
            if row.component == component and row.name == counter and app in (None, row.app)
        )

    def states(self) -> dict[str, int]:
        """Warp-cycles by state, without those that are zero."""
        sums = dict.fromkeys(self.machine.states, 0)
        for sm in self.machine.sms:
            for app in sm.ledger.sums:
                for name, value in zip(self.machine.states, app, strict=True):
                    sums[name] += value
        return {name: value for name, value in sums.items() if value}
