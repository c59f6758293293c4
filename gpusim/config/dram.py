"""The DRAM table of a model file."""

from __future__ import annotations

from attrs import frozen

from gpusim.config.choices import choice_of
from gpusim.core.interleaving import HASHES
from gpusim.core.policy import PolicyConfig
from gpusim.core.registry import Slot, policy_of
from gpusim.files.units import Bytes, Duration, Hertz, cycles


@frozen
class DramTiming:
    """Timing constraints, in DRAM clocks or ns (names as in the JEDEC standards).

    ``S`` constraints hold between bank groups, ``L`` within one.  A rank stands for a pseudo
    channel where there are any.  Read-to-write turnaround follows from them: CL + CCDS + 2 - CWL.
    """

    BL: Duration
    """Clocks of the data bus that one column access takes."""
    CL: Duration
    CWL: Duration
    RCDRD: Duration
    RCDWR: Duration
    RP: Duration
    RAS: Duration
    RC: Duration
    CCDS: Duration
    CCDL: Duration
    RRDS: Duration
    RRDL: Duration
    FAW: Duration
    WR: Duration
    WTRS: Duration
    WTRL: Duration
    RTP: Duration
    RFC: Duration
    REFI: Duration
    """Between two refreshes of a rank; 0: no refresh."""
    PPD: Duration = cycles(0)
    A32W: Duration = cycles(0)
    """Window of 32 activations (GDDR5's t32AW); 0: no limit."""


@frozen
class MemorySideConfig:
    """A memory-side cache: a slice in front of each channel, which keeps what is read of it.

    Attributes:
        slice: bytes of a channel's slice; its lines are those of the L2 cache.
        ways: shape.
        latency: from an L2 bank, or a walker that reads past it, to the end of a lookup.
        bytes_per_cycle: of a slice, in core cycles.
        replacement: replacement policy: which line of a set goes.
    """

    slice: Bytes
    ways: int
    latency: Duration = cycles(0)
    bytes_per_cycle: int = 64
    replacement: PolicyConfig = policy_of(Slot.REPLACEMENT, "lru")


@frozen
class DramConfig:
    """The DRAM channels, each with its controller.

    Attributes:
        clock: command clock of the DRAM.
        channels: number of channels; need not be a power of two.
        pseudo_channels: halves of a channel with a data bus each that share its command bus.
        bank_groups, banks: bank groups of a (pseudo) channel, banks of a group.
        rows: rows of a bank; addresses beyond the last one wrap around.
        row: bytes of a row of one (pseudo) channel.
        burst: bytes of one column access.
        timing: timing constraints.
        activate_clocks: clocks that an activation takes on the command bus (HBM: 2); constraints
            count from the last.
        row_bus: whether activations, precharges and refreshes have a command bus of their own
            (HBM), beside that of reads and writes.
        read_queue, write_queue: requests of a channel that wait, each; a policy with queues of
            its own may ignore the first.
        drain_high, drain_low: parts of `write_queue`: a write drain starts when more than
            ``drain_high * write_queue`` writes wait (or no read does), and ends when fewer than
            ``drain_low * write_queue`` do and reads wait.
        scheduler: DRAM queue policy.
        page_policy: ``"open"``: a row stays open until another one of its bank is wanted;
            ``"closed"``: a column access that no waiting request of the served queue follows in
            its row closes it (auto-precharge).
        mapping: address fields from the highest bits to the lowest: ``row``, ``bank``,
            ``bank-group``, ``pseudo-channel``, ``channel``, ``column``.  ``column:1`` stands for
            the lowest column bit alone, to keep a cache line in one channel:
            ``"row bank bank-group column channel column:1"``; ``bank`` and ``bank-group`` may be
            cut so, too.
        hash: how the channel field is hashed with the address bits above it: None (``"none"`` in a
            model): it is the channel; ``"xor"`` or ``"ipoly"``: see `gpusim.core.interleaving`.
        partition: ``"channels"``: each application that shares the DRAM has an equal part of the
            channels to itself, and all its memory there; None (``"none"`` in a model): all
            channels for all.
        trip: of the way from L2 banks and walkers to a channel, through the controller's clock
            crossings and its interface to the DRAM; None (``"none"`` in a model): it takes no time.
        refresh: None (``"none"`` in a model): all channels are refreshed in the same clocks;
            ``"staggered"``: one after another, evenly over the time between two refreshes.
        memory_side: cache in front of the channels; None: there is none.
        ideal: answer every request after `ideal_latency`, with no limit on bandwidth.
        ideal_latency: in DRAM clocks or ns.
    """

    clock: Hertz
    channels: int
    timing: DramTiming
    row: Bytes
    burst: Bytes
    pseudo_channels: int = 1
    bank_groups: int = 4
    banks: int = 4
    rows: int = 32768
    activate_clocks: int = 1
    row_bus: bool = False
    read_queue: int = 32
    write_queue: int = 32
    drain_high: float = 0.8
    drain_low: float = 0.2
    scheduler: PolicyConfig = policy_of(Slot.DRAM_QUEUE, "fr-fcfs")
    page_policy: str = choice_of("open", "closed")
    mapping: str = "row bank bank-group column channel"
    hash: str | None = choice_of(*HASHES, default=None)
    partition: str | None = choice_of("channels", default=None)
    trip: Duration | None = None
    refresh: str | None = choice_of("staggered", default=None)
    memory_side: MemorySideConfig | None = None
    ideal: bool = False
    ideal_latency: Duration = cycles(100)

    @property
    def banks_per_channel(self) -> int:
        """Banks of a channel, in all its bank groups and pseudo channels."""
        return self.pseudo_channels * self.bank_groups * self.banks
