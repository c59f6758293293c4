"""What becomes of pages that several GPUs use: they are mapped where they lie, or they move."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Any, Final

from mypy_extensions import mypyc_attr

from gpusim.core.component import Component
from gpusim.core.engine import NEVER, Port, Probe
from gpusim.core.law import Law, laws_of
from gpusim.core.mapping import ASID_SHIFT, VPN_MASK, Mapping
from gpusim.hardware.node.arrivals import Arrivals
from gpusim.hardware.node.departures import Departures
from gpusim.hardware.node.far_faults import FarFault, FarFaults
from gpusim.hardware.node.held_stores import HeldStores
from gpusim.hardware.node.known_pages import KnownPages
from gpusim.hardware.node.move_counters import MoveCounters
from gpusim.hardware.node.move_site import MoveSite, NodePages
from gpusim.hardware.node.own_walk import OwnWalk
from gpusim.hardware.node.page_move import (
    ACKNOWLEDGED,
    BEGIN,
    FORGET,
    PASSED,
    Move,
    PageChunk,
    Step,
)
from gpusim.hardware.node.remote_pages import RemotePages

CHUNK_BYTES: Final = 4096
"""Pages are copied in pieces of this size, each of one packet [our choice]."""


@mypyc_attr(allow_interpreted_subclasses=True)
class PageMoves(Component):
    """Resolves faults of GPUs, and moves pages, step by step.

    1. From now on faults of the page wait here.  A message goes to each GPU whose table has it.
    2. There, TLBs, walks and the table forget it; a walk that has read its entry walks again.  When
       the accesses of that GPU to it that have left their SMs are answered, it acknowledges.
    3. When all have, the page crosses the links, as packets; DRAM at both ends takes no part in it
       [our choice].
    4. The page has its new frame.  The GPU that it moved for is answered, and enters it; other
       faults are resolved anew.

    A GPU keeps a page that it was given until one of its accesses to the page has left an SM: two
    GPUs that ask for it in turn both get on [our choice].

    Args:
        site: where it stands.
        pages: of the node.
        policy: which pages move.

    Attributes:
        known: which GPUs know which pages.
        departures: pages that come from the host, and leave for it.
        faults: by GPU, its stage of far faults.
        stores: by GPU, what holds stores to pages with copies; empty: no page is ever copied.
        on_move: application, page, the GPUs that it moves from and to, the cycles in which that
            begins, in which all GPUs have forgotten it, and in which it ends, and whether it moved.
        on_gone: a page that has left for the host.
    """

    path = "node/pages"
    name = "pages"
    laws: Sequence[Law] = laws_of([MoveCounters], Law("messages", "acknowledgements"))

    def __init__(self, site: MoveSite, pages: NodePages, policy: RemotePages) -> None:
        env = self.env = site.env
        self.counters = [MoveCounters() for _ in range(site.apps)]
        self.known = KnownPages(site, pages)
        self.faults: Sequence[FarFaults] = ()
        self.stores: Sequence[HeldStores] = ()
        self.policy = policy
        self._copies = type(policy).copies
        self.on_move: Probe[[int, int, int, int, int, int, int, bool]] = Probe()
        self.on_gone: Probe[[int]] = Probe()
        self._pages = pages
        self._trip = site.trip
        self._drop = site.drop
        self._invalidation = site.invalidation
        self._forwarding = site.forwarding
        self._paged = site.paged
        self._follows_uses = policy.moves or site.paged
        fixed = site.config is not None and site.config.cost == "fixed"
        self._fixed = site.config.latency.cycles(site.clock) if fixed and site.config else -1
        self._moves: dict[int, Move] = {}
        self._steps: Port[Step] = Port(env, "pages.steps")
        self._arrivals = Arrivals(env, self._steps, self.known)
        self.departures = Departures(env, pages, self.known, self._arrivals, self._moves, self)
        self._copied: Port[PageChunk] = Port(env, "pages.copied")
        self.process = env.start(self._run())
        self._steps.connect(self.process)
        self._copied.connect(self.process)
        self._arrivals.late.connect(self.process)

    def _run(self) -> Generator[int | None, None, None]:
        steps, copied, late = self._steps, self._copied, self._arrivals.late
        while True:
            self._arrivals.take_late()
            while (chunk := copied.take()) is not None:
                self._came(chunk.move)
            while (step := steps.take()) is not None:
                self._do(step)
            upcoming = min(steps.ready, copied.ready, late.ready)
            yield None if upcoming == NEVER else upcoming - self.env._now

    # -- faults ----------------------------------------------------------------------------------

    def resolve(self, fault: FarFault) -> bool:
        """Map the page of a fault, or move it; returns whether it lies with any GPU."""
        if self._is_absent(fault):
            return False
        mapping = self._pages.touch(fault.tag, fault.gpu)
        if mapping.tag in self._moves:
            self._moves[mapping.tag].faults.append(fault)
            self.faults[fault.gpu].moves(fault.tag)
        elif fault.stores:
            self._resolve_store(fault, mapping)
        else:
            self._resolve_walk(fault, mapping)
        return True

    def _is_absent(self, fault: FarFault) -> bool:
        """Whether a page lies with no GPU, which the GPU that asks for it is told then."""
        if not self._paged or self._pages.find(fault.tag) is not None:
            return False
        self.counters[fault.app].absent += 1
        self.faults[fault.gpu].absent.send(fault.tag)
        return True

    def _resolve_walk(self, fault: FarFault, mapping: Mapping) -> None:
        """A walk has not found a page that lies with a GPU, or stays with the host for now."""
        owner, gpu = self._pages.gpu_of(mapping.pfn), fault.gpu
        counters = self.counters[fault.app]
        if self._pages.with_host(mapping.pfn):
            counters.mapped_remotely += 1
            self._answer(fault, mapping)
            return
        self.policy.asked(mapping.tag, gpu, writes=fault.writes)
        if owner == gpu:
            counters.mapped_here += 1
        elif self.policy.fault(mapping.tag, gpu, owner):
            self._begin(mapping, gpu, fault)
            return
        elif self._has_copy(mapping.tag, gpu):
            counters.mapped_here += 1
        elif self._copies and self.policy.copied(mapping.tag, gpu, owner):
            self._begin(mapping, gpu, fault, copies=True)
            return
        else:
            counters.mapped_remotely += 1
        self._answer(fault, mapping)

    def _resolve_store(self, fault: FarFault, mapping: Mapping) -> None:
        """A store waits for a page of which there were copies: they are given up."""
        if self.is_copied(mapping.tag):
            self._begin(mapping, fault.gpu, fault)
        else:
            self._answer(fault, mapping)

    def of_gpu(self, tag: int, gpu: int) -> Mapping:
        """What a GPU uses of a page: its copy, or what all have."""
        mapping = self._pages.of_gpu(tag, gpu)
        return self._pages.touch(tag, gpu) if mapping is None else mapping

    def is_copied(self, tag: int) -> bool:
        """Whether there are copies of a page; `tag`: its first page."""
        return len(self._pages.copies(tag)) > 0

    def _has_copy(self, tag: int, gpu: int) -> bool:
        return gpu in self._pages.copies(tag)

    def _answer(self, fault: FarFault, mapping: Mapping) -> None:
        self.known.expect(mapping.tag, fault.gpu)
        if fault.stores:
            self.stores[fault.gpu].answers.send(mapping.tag)
        else:
            self.faults[fault.gpu].answers.send(fault.tag)
        if self._follows_uses:
            self._arrivals.expect(mapping.tag, fault.gpu)

    def enter(self, tag: int, gpu: int) -> None:
        """The host's answer is there: the page is entered, unless it has been taken away again."""
        mapping = self._pages.of_gpu(tag, gpu)
        if mapping is not None and self.known.is_held(tag, gpu):
            self.known.enter(mapping, gpu)
            self._arrivals.entered(mapping.tag, gpu)

    def accessed(self, tag: int, gpu: int) -> None:
        """A request of a GPU to a page of another one is about to leave."""
        mapping = self._pages.find(tag)
        if mapping is None or mapping.tag in self._moves or self._pages.with_host(mapping.pfn):
            return
        owner = self._pages.gpu_of(mapping.pfn)
        asked = owner != gpu or self.policy.counts_own
        if asked and self.policy.accessed(mapping.tag, gpu, owner) and owner != gpu:
            move = Move(mapping.tag, tag >> ASID_SHIFT, owner, gpu, self.env._now)
            self._steps.send(Step(BEGIN, move), self._trip)

    # -- without a clock -------------------------------------------------------------------------

    def settle(self, tag: int, gpu: int) -> None:
        """A GPU uses a page: all that becomes of it happens at once, and is not counted.

        A page that is moving stays as it is, and the GPU does not come to have it.
        """
        mapping = self._pages.touch(tag, gpu)
        tag = mapping.tag
        if tag in self._moves or self.known.is_held(tag, gpu):
            return
        owner, stays = self._pages.gpu_of(mapping.pfn), self._pages.with_host(mapping.pfn)
        if owner != gpu and not stays and self.policy.fault(tag, gpu, owner):
            for one in range(len(self.known.gpus)):
                self.known.forget(tag, one)
            self._drop(mapping)
            if self._pages.move(mapping, gpu):
                self.policy.moved(tag, gpu)
            mapping = self._pages.touch(tag, gpu)
        self.known.expect(tag, gpu)
        self.known.enter(mapping, gpu)

    # -- moves -----------------------------------------------------------------------------------

    def _begin(
        self, mapping: Mapping, gpu: int, fault: FarFault | None, *, copies: bool = False
    ) -> None:
        now, tag = self.env._now, mapping.tag
        owner = self._pages.gpu_of(mapping.pfn)
        app = tag >> ASID_SHIFT
        move = self._moves[tag] = Move(tag, app, owner, gpu, now, copies=copies)
        if fault is not None:
            move.faults.append(fault)
            self.faults[fault.gpu].moves(fault.tag)
        # a page that is read only already is copied as it is
        self._ask(move, 0 if copies and not mapping.writable else self.known.holders(mapping))

    def _ask(self, move: Move, holders: int) -> None:
        """Ask GPUs to forget the page of a move: those that have it, as far as the policy says."""
        if self._fixed >= 0:
            self._steps.send(Step(PASSED, move), self._fixed)
            return
        if holders and self._invalidation is not None:
            holders = self._invalidation.asked(move.tag, holders)
        for gpu in range(len(self.known.gpus)):
            if holders >> gpu & 1:
                move.left += 1
                self._steps.send(Step(FORGET, move, gpu), self._trip)
        self.counters[move.app].messages += move.left
        if not move.left:
            self._forgotten(move)

    def _forgotten(self, move: Move) -> None:
        """No GPU has the page of a move any more."""
        if move.departure is not None:
            self.departures.forgotten(move)
        else:
            self._copy(move)

    def _do(self, step: Step) -> None:
        move = step.move
        if step.what == BEGIN:
            mapping = self._pages.find(move.tag)
            if mapping is None or mapping.tag in self._moves:
                return
            if self._pages.gpu_of(mapping.pfn) != move.target:
                self._begin(mapping, move.target, None)
        elif step.what == FORGET:
            if self._arrivals.keeps(step, step.gpu):
                return
            self._asked_to_forget(move, step.gpu)
        elif step.what == ACKNOWLEDGED:
            self.counters[move.app].acknowledgements += 1
            move.left -= 1
            if not move.left:
                self.counters[move.app].shootdown_cycles += self.env._now - move.begun
                self._forgotten(move)
        elif not any(self._arrivals.keeps(step, gpu) for gpu in range(len(self.known.gpus))):
            for gpu in range(len(self.known.gpus)):
                self.known.forget(move.tag, gpu)
            if move.departure is not None:
                self.departures.forgotten(move)
            else:
                self._end(move)

    def _asked_to_forget(self, move: Move, gpu: int) -> None:
        """A GPU has been asked to forget the page of a move: at once, or after a walk."""
        policy, mapping = self._invalidation, self._pages.find(move.tag)
        pages = 1 if mapping is None else mapping.pages

        def forget(_: OwnWalk | None = None) -> None:
            self.known.forget(move.tag, gpu)
            done = Step(ACKNOWLEDGED, move)
            self.known.gpus[gpu].accesses.when_drained(
                move.tag, lambda: self._steps.send(done, self._trip), pages
            )

        if policy is None:
            forget()
        elif policy.keeps(move.tag, gpu):
            forget()
            self.faults[gpu].invalidate_later()
        else:
            self.faults[gpu].walk(move.tag, forget)

    def _copy(self, move: Move) -> None:
        """Send a page over the links."""
        move.silent = self.env._now
        mapping = self._pages.find(move.tag)
        size = 0 if mapping is None else self._pages.page_bytes(mapping)
        if self._has_copy(move.tag, move.target) or move.source == move.target:
            size = 0
        move.left = -(-size // CHUNK_BYTES)
        for number in range(move.left):
            chunk = PageChunk(move, number, self.env._now)
            chunk.return_to(self._copied)
            self.known.gpus[move.source].gateway.send_page(chunk, move.target, CHUNK_BYTES)
        if not move.left:
            self._end(move)

    def _came(self, move: Move) -> None:
        """A piece of a page has come."""
        move.left -= 1
        if not move.left:
            self.counters[move.app].copy_cycles += self.env._now - move.silent
            self._end(move)

    def _end(self, move: Move) -> None:
        """The page has its new frame, and what waited for it is answered."""
        counters, mapping = self.counters[move.app], self._pages.find(move.tag)
        del self._moves[move.tag]
        moved = False
        if mapping is not None and move.copies:
            moved = self._pages.copy(mapping, move.target)
            if moved:
                counters.copies += 1
                counters.copied_bytes += self._pages.page_bytes(mapping)
            else:
                counters.no_room += 1
        elif mapping is not None:
            moved = self._make_exclusive(move, mapping)
        if self.on_move.listeners:
            page, ends = move.tag & VPN_MASK, (move.source, move.target)
            self.on_move(move.app, page, *ends, move.begun, move.silent, self.env._now, moved)
        self._answer_target(move)
        for departure in move.waiting:
            self.departures.depart(departure, move.tag)
        for fault in move.faults:
            if fault.gpu != move.target:
                self.resolve(fault)

    def _answer_target(self, move: Move) -> None:
        """Answer the faults of the GPU that a page has moved, or was copied, for."""
        counters = self.counters[move.app]
        for fault in [fault for fault in move.faults if fault.gpu == move.target]:
            if self._is_absent(fault):
                continue
            mapping = self._pages.touch(fault.tag, fault.gpu)
            if fault.stores:
                self._resolve_store(fault, mapping)
                continue
            here = self._has_copy(mapping.tag, fault.gpu)
            if here or self._pages.gpu_of(mapping.pfn) == fault.gpu:
                counters.mapped_here += 1
            else:
                counters.mapped_remotely += 1
            self._answer(fault, mapping)

    def _make_exclusive(self, move: Move, mapping: Mapping) -> bool:
        """A page moves to the target of a move, or stays if there is no room; copies are gone."""
        counters, copies = self.counters[move.app], dict(self._pages.copies(move.tag))
        size = 0 if move.target in copies else self._pages.page_bytes(mapping)
        for gpu, copy in copies.items():
            if gpu != move.target:
                self._drop(copy)
        if move.source != move.target:
            self._drop(mapping)
        if copies:
            counters.collapses += 1
            self.policy.collapsed(move.tag)
        if move.source == move.target:
            self._pages.unshare(mapping)
            return False
        moved = self._pages.move(mapping, move.target)
        if moved:
            counters.migrations += 1
            counters.migrated_bytes += size
            counters.migration_cycles += self.env._now - move.begun
            self.policy.moved(move.tag, move.target)
        else:
            counters.no_room += 1
        return moved

    # -- pages that leave for the host -----------------------------------------------------------

    def begins_to_leave(self, move: Move, mapping: Mapping) -> None:
        """A page begins to leave."""
        self.counters[move.app].departures += mapping.pages
        self._ask(move, self.known.holders(mapping))

    def have_left(self, moves: Sequence[Move]) -> None:
        """Pages have left: what waited for them finds that they are with the host."""
        for move in moves:
            del self._moves[move.tag]
            self.on_gone(move.tag)
        for move in moves:
            for fault in move.faults:
                self.resolve(fault)

    # -- reports ---------------------------------------------------------------------------------

    def in_flight(self) -> int:
        return len(self._moves) + len(self._steps)

    def waiting(self) -> Iterator[str]:
        if self._moves:
            pages = ", ".join(f"{tag:#x}" for tag in list(self._moves)[:4])
            yield f"{self.name}: {len(self._moves)} pages move: {pages}"

    def recordable(self) -> Iterable[tuple[str, Any]]:
        return (("moves", self.on_move),)

    def policies(self) -> Iterator[tuple[str, object]]:
        yield "node.remote", self.policy
        if self._invalidation is not None:
            yield "node.invalidation", self._invalidation
        if self._forwarding is not None:
            yield "node.forwarding", self._forwarding

    def app_counters(self, app: int) -> Iterable[object]:
        return (self.counters[app],)
