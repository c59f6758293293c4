"""Joins the two sides of a machine by the border between them."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from gpusim.config.check_order import lookahead
from gpusim.core.engine import LeadingEnvironment, Side, Together
from gpusim.core.errors import UserError
from gpusim.core.unboxed import Words
from gpusim.hardware.border import MemoryEnd, MemoryEndSite, SmEnd, SmEndSite
from gpusim.hardware.walk import PageTable
from gpusim.machine.domains import Domain
from gpusim.machine.memory_system import MemorySystem
from gpusim.machine.tenants import Tenant


@frozen(eq=False, repr=False)
class JoinedSides:
    """Both sides, and what they tell each other.

    Attributes:
        sms, memory: the sides, of which that of the SMs leads.
        to_memory, to_sms: what each tells the other.
        ahead: cycles after which what SMs tell arrives.
    """

    sms: Side
    memory: Side
    to_memory: Words
    to_sms: Words
    ahead: int

    def next_of_memory(self) -> int:
        """The first cycle with an event of the memory side, or of what either side told."""
        cycle = self.memory.loop.next_cycle()
        if self.to_sms:
            cycle = min(cycle, self.to_sms.first())
        return min(cycle, self.to_memory.first() + self.ahead) if self.to_memory else cycle


def refuse_together(domains: Sequence[Domain], tenants: Sequence[Tenant], *, paced: bool) -> None:
    """Refuse what no machine with ``crossbar.order = "memory-first"`` can run.

    Raises:
        UserError: it is of several MIG instances, maps arrays in mid-run, or skips anything.
    """
    why = ""
    if len(domains) > 1:
        why = "MIG instances"
    if paced:
        why = "parts of programs that are skipped (--skip, --sample, --from)"
    for tenant in tenants:
        if any(one.piece for one in tenant.application.buffers):
            why = f"arrays that {tenant.name} maps piece by piece"
    if why:
        raise UserError(f"crossbar.order = 'memory-first': not with {why}")


def join_sides(env: LeadingEnvironment, system: MemorySystem, table: PageTable) -> JoinedSides:
    """Put the border between a memory system, on a loop of its own, and the SMs before it.

    Args:
        env: the loop of the SMs' side, which runs both.
        system: gets the SMs' end of the border.
        table: the page table of all address spaces.
    """
    domain = system.domain
    ahead = lookahead(domain.config)
    to_memory, to_sms = Words(), Words()
    sms, banks = len(domain.sms), domain.config.l2.banks
    queue = system.walkers.requests
    system.border = SmEnd(
        SmEndSite(
            env,
            to_memory,
            system.request_network(env),
            domain.sms.start,
            sms,
            banks,
            queue.name,
            queue.depth,
            table.learn,
        )
    )
    memory_end = MemoryEnd(
        MemoryEndSite(
            system.env,
            to_sms,
            ahead,
            system.requests,
            system.replies,
            domain.sms.start,
            sms,
            banks,
            queue,
        )
    )
    leading = Side(env, to_sms, 0, system.border)
    following = Side(system.env, to_memory, ahead, memory_end)
    joined = JoinedSides(leading, following, to_memory, to_sms, ahead)
    env.sides = Together(leading, following)
    env.upcoming = joined.next_of_memory
    return joined
