"""Ranks, bank groups and banks: open rows, and when the timing allows each next command."""

from __future__ import annotations

from typing import Final

from gpusim.core.engine import NEVER
from gpusim.core.unboxed import IntFifo
from gpusim.hardware.dram.mapping import AddressMapping
from gpusim.hardware.dram.timing import Timing
from gpusim.hardware.dram.waiting import Due, Waiting

CLOSED: Final = -1
"""The open row of a bank that has none."""

_FOLLOWED: Final = 32
"""Activations of a rank that timing looks back on."""


class Rank:
    """What the banks of a rank (or pseudo channel) share: the first clock of its next command.

    Attributes:
        read_ok, write_ok, activate_ok, precharge_ok: first clocks.
        activations: clocks of the last activations, as many as are followed, the oldest first.
        banks: all of them.
    """

    __slots__ = ("activate_ok", "activations", "banks", "precharge_ok", "read_ok", "write_ok")

    def __init__(self) -> None:
        self.read_ok = 0
        self.write_ok = 0
        self.activate_ok = 0
        self.precharge_ok = 0
        self.activations = IntFifo()
        for _ in range(_FOLLOWED):
            self.activations.append(-NEVER)
        self.banks: list[Bank] = []

    def precharge_all(self, clock: int, t: Timing) -> int:
        """Close all rows with one command in `clock`; how many were open."""
        rows = 0
        for bank in self.banks:
            rows += bank.row != CLOSED
            bank.row = CLOSED
            bank.activate_ok = max(bank.activate_ok, clock + t.RP)
        return rows

    def refresh(self, clock: int, t: Timing) -> None:
        """Refresh all banks, whose rows are closed, with a command in `clock`."""
        for bank in self.banks:
            bank.activate_ok = clock + t.RFC


class BankGroup:
    """What the banks of a group share: the first clock of its next command."""

    __slots__ = ("activate_ok", "read_ok", "write_ok")

    def __init__(self) -> None:
        self.read_ok = 0
        self.write_ok = 0
        self.activate_ok = 0


class Bank(Due):
    """A bank: its open row, the first clock of each next command, and which command is next.

    Attributes:
        index: among all banks of the channel.
        rank, group: what it shares with other banks.
        row: open row, or `CLOSED`.
        read_ok, write_ok, activate_ok, precharge_ok: first clocks.
        opened_for: the request that this row was opened for, until its last column access.
        next: the request that the bank works for, None if there is none.
        step: the next command, for `next` (see `gpusim.hardware.dram.plan`, which keeps these).
        due: first clock of a precharge that is next, as far as the bank alone is concerned.
        age: rank of `next`.
    """

    __slots__ = (
        "activate_ok",
        "age",
        "group",
        "index",
        "next",
        "opened_for",
        "precharge_ok",
        "rank",
        "read_ok",
        "row",
        "step",
        "write_ok",
    )

    def __init__(self, index: int, rank: Rank, group: BankGroup) -> None:
        self.index = index
        self.rank = rank
        self.group = group
        self.row = CLOSED
        self.read_ok = 0
        self.write_ok = 0
        self.activate_ok = 0
        self.precharge_ok = 0
        self.opened_for: Waiting | None = None
        self.next: Waiting | None = None
        self.step = 0
        self.due = 0
        self.age = 0
        rank.banks.append(self)

    def activate(self, row: int, clock: int, t: Timing) -> None:
        """Open `row` with a command in `clock`."""
        self.row = row
        self.read_ok = clock + t.RCDRD
        self.write_ok = clock + t.RCDWR
        self.activate_ok = clock + t.RC
        self.precharge_ok = clock + t.RAS
        self.group.activate_ok = clock + t.RRDL
        rank = self.rank
        last = rank.activations
        last.pop(0)
        last.append(clock)
        allowed = clock + t.RRDS
        if last[-4] + t.FAW > allowed:
            allowed = last[-4] + t.FAW
        if last[0] + t.A32W > allowed:
            allowed = last[0] + t.A32W
        rank.activate_ok = allowed

    def precharge(self, clock: int, t: Timing) -> None:
        """Close the row with a command in `clock`."""
        self.row = CLOSED
        if clock + t.RP > self.activate_ok:
            self.activate_ok = clock + t.RP
        self.rank.precharge_ok = clock + t.PPD

    def auto_precharge(self, t: Timing) -> None:
        """Close the row as soon as its last column access allows it, without a command."""
        self.row = CLOSED
        self.activate_ok = max(self.activate_ok, self.precharge_ok + t.RP)

    def read(self, clock: int, t: Timing) -> None:
        """Read a burst with a command in `clock`."""
        rank, group = self.rank, self.group
        rank.read_ok = clock + t.CCDS
        group.read_ok = clock + t.CCDL
        rank.write_ok = clock + t.read_to_write
        if clock + t.RTP > self.precharge_ok:
            self.precharge_ok = clock + t.RTP

    def write(self, clock: int, t: Timing) -> None:
        """Write a burst with a command in `clock`."""
        rank, group = self.rank, self.group
        rank.write_ok = clock + t.CCDS
        group.write_ok = clock + t.CCDL
        rank.read_ok = clock + t.write_to_read_s
        group.read_ok = clock + t.write_to_read_l
        if clock + t.write_to_precharge > self.precharge_ok:
            self.precharge_ok = clock + t.write_to_precharge


def make_banks(mapping: AddressMapping) -> tuple[list[Rank], list[Bank]]:
    """The ranks of a channel (one a pseudo channel), and its banks in the mapping's order."""
    ranks: dict[int, Rank] = {}
    groups: dict[tuple[int, int], BankGroup] = {}
    banks = []
    for index in range(mapping.banks):
        pseudo_channel, group, _ = mapping.bank_place(index)
        rank = ranks.setdefault(pseudo_channel, Rank())
        banks.append(Bank(index, rank, groups.setdefault((pseudo_channel, group), BankGroup())))
    return [ranks[number] for number in sorted(ranks)], banks
