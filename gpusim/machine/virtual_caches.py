"""The forward–backward table of a machine with virtual caches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from gpusim.config.schema import GpuConfig
from gpusim.core.engine import Environment
from gpusim.core.interfaces import Route
from gpusim.core.mapping import ASID_SHIFT
from gpusim.core.states import State
from gpusim.core.structures import bits_for
from gpusim.hardware.cache import L1Cache, L2Bank, LeadingNames, TranslatedMisses
from gpusim.hardware.tlb import TlbLevel
from gpusim.hardware.walk import PageTable
from gpusim.machine.domains import Domain
from gpusim.machine.pages import Holder

if TYPE_CHECKING:
    from gpusim.hardware.fbt import Fbt


def build_fbt(
    env: Environment,
    domain: Domain,
    page_table: PageTable,
    apps: int,
    channel: Route,
    bank_of: Callable[[int], int],
) -> Fbt | None:
    """The table of a domain, if a machine has any; messages to L1 caches take the crossbar, too."""
    config = domain.config
    fbt, clock = config.fbt, config.clock
    if fbt is None:
        return None
    from gpusim.hardware.fbt import Fbt, FbtSite, make_table, page_lines_shift

    page, line = config.memory.page, config.l2.line
    crossbar = 0 if config.crossbar.ideal else config.crossbar.latency.cycles(clock)
    site = FbtSite(
        env,
        fbt,
        clock,
        apps,
        page_lines_shift(fbt, page, line),
        page.bit_length() - line.bit_length(),
        line,
        bank_of,
        fbt.trip.cycles(clock) + crossbar,
        State.TLB,
        State.TLB + len(config.tlb),
        domain.index,
    )
    return Fbt(site, make_table(fbt, config), page_table, channel)


def leading_names(config: GpuConfig, fbt: Fbt | None, apps: int, line: int) -> LeadingNames | None:
    """What a cache next to SMs, with lines of `line` bytes, knows of leading names.

    None if the machine has no table of them.
    """
    if fbt is None or config.fbt is None:
        return None
    parts = bits_for(config.l2.line // line)
    return LeadingNames(fbt.lines_shift, apps, parts, config.fbt.remapping)


def connect_fbt(
    fbt: Fbt,
    holders: Sequence[Holder],
    first: TlbLevel,
    banks: Iterable[L2Bank],
    l1s: Sequence[L1Cache],
) -> None:
    """Introduce the table to what holds translations, to the first TLB, and to the caches."""
    fbt.connect(
        holders,
        first.requests,
        [bank.misses for bank in banks if isinstance(bank.misses, TranslatedMisses)],
        l1s,
    )


def shootdowns_of(fbts: Mapping[int, Fbt]) -> Callable[[int | None], None]:
    """What begins the shootdown of a page, or of all pages in each of several tables.

    Args:
        fbts: the table of each application.
    """

    def begin(tag: int | None) -> None:
        if tag is not None:
            fbts[tag >> ASID_SHIFT].shootdowns.begin(tag)
            return
        for fbt in dict.fromkeys(fbts.values()):
            fbt.shootdowns.begin(None)

    return begin
