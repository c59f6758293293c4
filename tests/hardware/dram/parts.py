"""The parts of a GDDR5 channel, put together by hand."""

from __future__ import annotations

from typing import Any

from attrs import evolve

from gpusim.config.dram_standards.gddr5 import GDDR5
from gpusim.core.request import Kind, MemoryRequest
from gpusim.core.unboxed import IntList
from gpusim.hardware.dram.bank import make_banks
from gpusim.hardware.dram.bus import CommandBus
from gpusim.hardware.dram.chooser import Chooser
from gpusim.hardware.dram.issuer import Issuer
from gpusim.hardware.dram.mapping import AddressMapping
from gpusim.hardware.dram.plan import BankPlan
from gpusim.hardware.dram.read_write_queues import ReadWriteQueues
from gpusim.hardware.dram.refresh import Refresh
from gpusim.hardware.dram.timing import Timing
from gpusim.hardware.dram.waiting import Waiting


def waiting(bank: int, row: int, rank: int = 0, write: bool = False, left: int = 1) -> Waiting:
    """A request for a row of a bank, whose address is its rank."""
    kind = Kind.WRITEBACK if write else Kind.LOAD
    request = MemoryRequest(kind, 0, 0, 0, 0, rank, 0, 1, 0, None, IntList())
    one = Waiting(request, bank, row, write, left, 0)
    one.rank = one.clock = rank
    return one


class Parts:
    """A channel without the process and without time: each part can be used alone."""

    def __init__(self, closed_page: bool = False, **change: Any) -> None:
        config = evolve(GDDR5, **change)
        mapping = AddressMapping(config)
        self.timing = Timing.of(config)
        self.ranks, self.banks = make_banks(mapping)
        self.queues = ReadWriteQueues(config, mapping.banks)
        self.bus = CommandBus(config.row_bus)
        self.refresh = Refresh(self.ranks, self.timing.REFI)
        self.plan = BankPlan(self.banks, self.queues)
        self.chooser = Chooser(self.plan, self.bus, self.refresh, self.ranks, 1)
        self.issuer = Issuer(
            self.plan,
            self.bus,
            self.refresh,
            self.timing,
            activate_clocks=1,
            closed_page=closed_page,
        )

    def accept(self, *requests: Waiting) -> None:
        """Put requests into their queues and the plan."""
        for one in requests:
            assert self.queues.add(one, 0)
            self.plan.accepted(one)

    def open(self, bank: int, row: int) -> None:
        """A row has been open for long, for no request."""
        self.banks[bank].row = row
