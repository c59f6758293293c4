"""The driver on the host: takes faults in batches, makes room, moves pages, and replays faults."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Final

from gpusim.core.component import Component
from gpusim.core.engine import NEVER, Probe
from gpusim.core.law import Law, laws_of
from gpusim.core.mapping import ASID_SHIFT
from gpusim.hardware.paging.batch_costs import BatchCosts
from gpusim.hardware.paging.device_memory import DeviceMemories, DeviceMemory
from gpusim.hardware.paging.driver_counters import DriverCounters, PagingCounters, PlaceCounters
from gpusim.hardware.paging.driver_site import DriverSite
from gpusim.hardware.paging.fault import Fault, FaultBuffer, named_pages
from gpusim.hardware.paging.link import Link
from gpusim.hardware.paging.placement import Placement
from gpusim.hardware.paging.prefetch import PagePrefetch
from gpusim.hardware.paging.sharers import Sharers
from gpusim.hardware.paging.transfers import Transfers

_UNTIL_WOKEN: Final = -1
"""A pause of unknown length."""


class Driver(Component):
    """One process for all applications, which does one thing after the other.

    It sleeps until there is a fault, works an `interrupt` later, and then goes on until there is
    nothing to do.  A batch takes the times that `BatchCosts` has for it.  Then blocks leave, by a
    shootdown each, until there is room for the pages and what the prefetch policy adds; what was
    stored to crosses the link first.  Pages that lie side by side, or in one block of 2 MiB, cross
    it together, and are mapped when they have come.  At the end the translations that wait walk
    again.  Blocks of the batch itself are evicted only if there are no others.

    Args:
        site: where it stands.
        memories: the device memories.
        placement: maps pages, and takes them away.
        prefetch: the policy.
        links: by GPU, the link to the host.
        replay: called at the end of a batch with the GPU whose faults it served, and the pages of
            its faults that are still to be served: all others of this GPU walk again.

    Attributes:
        buffers: by GPU, where its faults come in.
        sharers: GPUs that have pages of each other in tables of their own; None: none do.
        on_batch: announces a batch: cycles in which it began and ended, faults, pages that were
            asked for, pages that came, pages that left, blocks of 2 MiB of its faults, those of
            them that were in no batch before.
    """

    name = "driver"
    path = "paging"
    laws: Sequence[Law] = laws_of(
        [PagingCounters, PlaceCounters],
        Law(
            "faults_written",
            "pages_asked + not_served + faults_remote + faults_again + faults_flushed",
            "faults that came into the buffer",
            "those served + those of pages that were there or named twice + those thrown away",
        ),
        Law(
            "pages_asked + pages_prefetched + pages_migrated + placed",
            "resident + pages_out + taken_away",
            "pages that came to the device",
            "those there + those that left",
        ),
    )

    def __init__(
        self,
        site: DriverSite,
        memories: DeviceMemories,
        placement: Placement,
        prefetch: PagePrefetch,
        links: Sequence[Link],
        replay: Callable[[int, Collection[int]], None],
    ) -> None:
        config = site.config
        self.env = site.env
        self.buffers = [FaultBuffer(config.fault_buffer) for _ in links]
        self.counters = [PagingCounters() for _ in range(site.apps)]
        self.sharers: Sharers | None = None
        self.whole = DriverCounters()
        self.on_batch: Probe[[int, int, int, int, int, int, int, int]] = Probe()
        self._config = config
        self._costs = BatchCosts(config, site.clock, site.page_bytes)
        self._wholes = site.wholes
        self._message, self._acknowledge = site.shootdown
        self._memories = memories
        self._placement = placement
        self._prefetch = prefetch
        self._transfers = Transfers(links, site.page_bytes, gaps=config.transfers == "blocks")
        self._replay = replay
        self._coming: set[int] = set()
        """Pages of the batch that is served."""
        self._asked: list[int] = []
        """Pages of the batch that faults asked for; kept when the batch has been served."""
        self._next = 0
        """The GPU whose faults are served next, if it has some."""
        self._moves: dict[int, tuple[int, list[int]]] = {}
        """Blocks that a GPU accessed often over its link, with the GPU and their remote pages."""
        self._waits = False
        """Whether GPUs are about to forget pages that leave."""
        self._busy = False
        self._due = NEVER
        """The cycle in which the interrupt of a fault reaches it; `NEVER`: it sleeps."""
        self._counted = 0
        """The cycle up to which its work is counted, while it works."""
        self.process = site.env.start(self._run())

    def wake(self) -> None:
        """There is a fault; a driver that works will see it when it has done."""
        if not self._busy and self._due == NEVER:
            self._due = self.env._now + self._costs.interrupt
            self.process.wake.at(self._due)

    def migrate(self, gpu: int, block: int, pages: list[int]) -> None:
        """Bring the pages of a block that a GPU reads over its link."""
        self._moves[block] = gpu, pages
        if not self._busy:
            self.process.wake.at(self.env._now)

    # -- what prefetch policies may ask -----------------------------------------------------------

    def there(self, tag: int) -> bool:
        """Whether a page is on the device, or comes with this batch."""
        return tag in self._coming or self._memories.holding(tag) is not None

    def may_come(self, tag: int) -> bool:
        """Whether it lies in an array that may be on the device."""
        return self._placement.may_come(tag)

    # -- the process -----------------------------------------------------------------------------

    def _run(self) -> Generator[int | None, None, None]:
        while True:
            self._counted = self.env._now
            gpu = self._waiting_gpu()
            if gpu >= 0 and (self._busy or self._due <= self.env._now):
                self._due = NEVER
                self._next = gpu + 1
                work = self._serve(gpu, self.buffers[gpu].take(self._config.batch))
            elif self._moves:
                work = self._move(*self._moves.pop(next(iter(self._moves))))
            else:
                self._busy = False
                yield None if self._due == NEVER else self._due - self.env._now
                continue
            self._busy = True
            for pause in chain(work, self._keep_free()):
                if pause:
                    yield None if pause == _UNTIL_WOKEN else pause
            self._count_work()

    def _waiting_gpu(self) -> int:
        """The GPU whose faults are served now: those that have some take turns; -1: none has."""
        gpus = len(self.buffers)
        for step in range(gpus):
            gpu = (self._next + step) % gpus
            if self.buffers[gpu].faults:
                return gpu
        return -1

    def _count_work(self) -> None:
        """Count the cycles in which it has worked, up to now."""
        if self._busy:
            self.whole.busy_cycles += self.env._now - self._counted
            self._counted = self.env._now

    def _serve(self, gpu: int, batch: list[Fault]) -> Iterator[int]:
        """A batch of faults of a GPU."""
        began = self.env._now
        wanted: dict[int, Fault] = {}
        for fault in batch:
            self._placement.forget_if_taken(fault.tag)
            if fault.tag in wanted or self._placement.there(fault.tag):
                self.counters[fault.app].faults_again += 1
            else:
                wanted[fault.tag] = fault
        self.whole.batches += 1
        self.whole.faults += len(batch)
        self.whole.duplicates += len(batch) - len(wanted)
        self._asked = list(wanted)
        blocks, touched = self._costs.blocks, self._costs.touched
        yield self._costs.handling(wanted)
        came: list[int] = []
        left = sum(one.pages_out for one in self.counters)
        remote = [tag for tag in wanted if not self._placement.moves(tag)]
        for tag in remote:
            self._placement.map_remote(tag)
            self.counters[tag >> ASID_SHIFT].faults_remote += 1
        homes: dict[DeviceMemory, dict[int, Fault]] = {}
        for tag, fault in wanted.items():
            if self._placement.moves(tag):
                homes.setdefault(self._memories.home(tag, gpu), {})[tag] = fault
        for memory in self._memories.all:
            if memory in homes:
                yield from self._bring(memory, homes[memory], gpu, came)
        buffer = self.buffers[gpu]
        if self._config.replay == "all":
            buffer.flush()
        self._replay(gpu, {fault.tag for fault in buffer.faults}.difference(came, remote))
        if self.on_batch.listeners:
            left = sum(one.pages_out for one in self.counters) - left
            self.on_batch(
                began,
                self.env._now,
                len(batch),
                len(wanted),
                len(came),
                left,
                self._costs.blocks - blocks,
                self._costs.touched - touched,
            )

    def _bring(
        self, memory: DeviceMemory, wanted: dict[int, Fault], gpu: int, came: list[int]
    ) -> Iterator[int]:
        """Bring pages that were asked for, and more if the policy says so and there is room."""
        asked = list(wanted)
        self._coming = set(asked)
        more = [tag for one in wanted.values() for tag in self._more(one, memory, gpu)]
        yield from self._make_room(memory, len(asked) + len(more), asked)
        room = len(asked) + len(more) if memory.room is None else memory.free()
        served, more = asked[:room], more[: max(room - len(asked), 0)]
        for tag in served:
            self.counters[tag >> ASID_SHIFT].pages_asked += 1
        for tag in asked[room:]:
            self.counters[tag >> ASID_SHIFT].not_served += 1
        for tag in more:
            self.counters[tag >> ASID_SHIFT].pages_prefetched += 1
        mine = served if memory.gpu == gpu else ()
        yield from self._fetch(memory, [*served, *more], mine)
        came += served + more
        self._coming = set()

    def _more(self, fault: Fault, memory: DeviceMemory, gpu: int) -> Iterator[int]:
        """Pages that come with that of a fault of a GPU: to the same memory [our choice]."""
        for tag in self._prefetch.pages(fault, self):
            if not self.may_come(tag) or self.there(tag):
                continue
            if self._memories.home(tag, gpu) is memory:
                self._coming.add(tag)
                yield tag

    def _move(self, gpu: int, pages: list[int]) -> Iterator[int]:
        """Pages that a GPU accessed often over its link come to a device."""
        yield self._costs.handling(pages[:1])
        homes: dict[DeviceMemory, list[int]] = {}
        for tag in pages:
            homes.setdefault(self._memories.home(tag, gpu), []).append(tag)
        for memory, there in homes.items():
            yield from self._move_to(memory, there)

    def _move_to(self, memory: DeviceMemory, pages: list[int]) -> Iterator[int]:
        """Pages of the host come to a memory, in which room is made for them."""
        yield from self._make_room(memory, len(pages), ())
        gone: list[int] = []
        if self.sharers is None:
            if self._message:
                yield self._message
            gone = self._leave_host(memory, pages)
            self.whole.shootdowns += 1
            yield self._acknowledge
        else:
            self._waits = True

            def forgotten(tags: list[int]) -> None:
                gone.extend(self._leave_host(memory, tags))
                self._waits = False
                self.process.wake.at(self.env._now)

            leaving = pages if memory.room is None else pages[: memory.free()]
            self.sharers.leave(leaving, self._placement.is_remote, forgotten)
            while self._waits:
                yield _UNTIL_WOKEN
            self.whole.shootdowns += 1
        yield from self._fetch(memory, gone)

    def _leave_host(self, memory: DeviceMemory, pages: list[int]) -> list[int]:
        """Pages of the host that have room in a memory are mapped nowhere now; returns them."""
        pages = [tag for tag in pages if self._placement.is_remote(tag)]
        pages = pages if memory.room is None else pages[: memory.free()]
        for tag in pages:
            self._placement.take_away(tag)
            self.counters[tag >> ASID_SHIFT].pages_migrated += 1
        return pages

    def _fetch(
        self, memory: DeviceMemory, pages: list[int], asked: Collection[int] = ()
    ) -> Iterator[int]:
        """Move pages to the device and map them; some its GPU has asked for."""
        memory.reserve(len(pages))
        yield self._costs.preparing(len(pages))
        for arrival, run in self._transfers.send(memory.gpu, pages, to_host=False):
            yield arrival - self.env._now
            for tag in run:
                self._placement.bring(tag, memory.gpu)
                memory.add(tag)
                if self.sharers is not None:
                    self.sharers.brought(tag, memory.gpu, asked=tag in asked)
        for block in dict.fromkeys(memory.block_of(tag) for tag in pages):
            memory.came(block)
        self.join(pages)

    def join(self, pages: Iterable[int]) -> None:
        """Make larger pages around pages that have come, where nothing of one is missing."""
        found = dict.fromkeys(
            (size, tag // size * size) for tag in pages for size in self._wholes(tag)
        )
        for size, first in sorted(found):
            parts, memory = range(first, first + size), self._memories.holding(first)
            if self.sharers is not None and any(map(self.sharers.is_moving, parts)):
                continue
            if memory is not None and all(memory.holds(tag) for tag in parts):
                self._placement.join(first, size)

    # -- room ------------------------------------------------------------------------------------

    def _make_room(self, memory: DeviceMemory, pages: int, asked: Collection[int]) -> Iterator[int]:
        """Evict blocks until `pages` pages have room, or no block is left that may be evicted."""
        if memory.room is None:
            return
        spared = {memory.block_of(tag) for tag in asked}
        while memory.free() < pages:
            victim = memory.victim(spared)
            if victim is None and memory.free() < len(asked):
                spared = set()
                victim = memory.victim(spared)
            if victim is None:
                return
            yield from self._evict(memory, victim)

    def _keep_free(self) -> Iterator[int]:
        """Let blocks leave ahead of need, none of which warps are about to use."""
        for memory in self._memories.all:
            if memory.room is None:
                continue
            spared = {memory.block_of(tag) for tag in self._asked}
            while memory.free() < self._config.free * memory.room:
                victim = memory.victim(spared)
                if victim is None:
                    break
                yield from self._evict(memory, victim)

    def _evict(self, memory: DeviceMemory, block: int) -> Iterator[int]:
        """Take the pages of a block away; those that were stored to move to the host."""
        if self.sharers is None:
            yield self._message
            written = self._gone(memory, memory.remove(block))
            yield self._acknowledge
        else:
            written = []
            self._waits = True
            leaving = sorted(memory.blocks[block])

            def forgotten(tags: list[int]) -> None:
                written.extend(self._forgotten(memory, leaving, tags))

            self.sharers.leave(leaving, memory.holds, forgotten)
            while self._waits:
                yield _UNTIL_WOKEN
        self.whole.shootdowns += 1
        for arrival, _ in self._transfers.send(memory.gpu, written, to_host=True):
            yield arrival - self.env._now

    def _forgotten(self, memory: DeviceMemory, leaving: list[int], tags: list[int]) -> list[int]:
        """All GPUs have forgotten pages; returns those that were stored to.

        Args:
            memory: which they leave.
            leaving: those that were to leave it, of which some may have moved away, or been taken.
            tags: those that lie there.
        """
        there = set(tags)
        mine = filter(memory.holds, leaving)
        gone = [tag for tag in mine if tag in there or not self._placement.there(tag)]
        written = self._gone(memory, gone)
        for tag in gone:
            memory.discard(tag)
        self._waits = False
        self.process.wake.at(self.env._now)
        return written

    def _gone(self, memory: DeviceMemory, leaving: Sequence[int]) -> list[int]:
        """Pages leave a memory now; returns those that were stored to."""
        pages = self._placement.forget(leaving)
        written = [tag for tag in pages if tag in memory.written]
        memory.written.difference_update(pages)
        for tag in pages:
            self.counters[tag >> ASID_SHIFT].pages_out += 1
        for tag in written:
            self.counters[tag >> ASID_SHIFT].pages_written_back += 1
        for app in dict.fromkeys(tag >> ASID_SHIFT for tag in pages):
            self.counters[app].evictions += 1
        return written

    # -- reports ---------------------------------------------------------------------------------

    def in_flight(self) -> int:
        return self._faults + len(self._moves) + self._busy

    @property
    def _faults(self) -> int:
        """Faults that wait for it."""
        return sum(len(buffer.faults) for buffer in self.buffers)

    def waiting(self) -> Iterator[str]:
        if self.in_flight():
            doing = "works" if self._busy else "sleeps"
            yield f"driver: {doing}; {self._faults} faults wait for it"
        if self.in_flight() and self._asked:
            left = sum(one.pages_out for one in self.counters)
            yield (
                f"driver: its last batch asked for {named_pages(self._asked)}; {left} pages have "
                "left the device so far"
            )

    def policies(self) -> Iterator[tuple[str, object]]:
        yield "paging.prefetch", self._prefetch
        for memory in self._memories.all:
            yield "paging.eviction", memory.eviction

    def recordable(self) -> Iterable[tuple[str, Any]]:
        return (("fault_batches", self.on_batch),)

    def app_counters(self, app: int) -> Iterable[object]:
        counters = self.counters[app]
        counters.faults_written = sum(buffer.written[app] for buffer in self.buffers)
        counters.faults_flushed = sum(buffer.flushed[app] for buffer in self.buffers)
        return counters, PlaceCounters(*self._placement.count(app))

    def shared_counters(self) -> Iterable[object]:
        self._count_work()
        self.whole.blocks, self.whole.touched = self._costs.blocks, self._costs.touched
        return (self.whole,)
