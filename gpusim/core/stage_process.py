"""The base of a stage of one's own: a process with ports, which keeps the books."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Any, Final

import attr
from mypy_extensions import mypyc_attr

from gpusim.core.counters import count
from gpusim.core.engine import NEVER, Port, Sink
from gpusim.core.errors import wrong_mapping
from gpusim.core.law import Law, laws_of
from gpusim.core.mapping import Mapping, became_part
from gpusim.core.request import Kind, MemoryRequest, Purpose, Translation
from gpusim.core.stage import Stage, StageSite
from gpusim.core.unboxed import IntList, pair

_READ: Final = int(Kind.WALK)


@mypyc_attr(allow_interpreted_subclasses=True)
class StageRead(MemoryRequest):
    """A read or write of what a stage keeps in memory, on behalf of a translation.

    Attributes:
        translation: the one.
        waits: whether it waits for it.
    """

    __slots__ = ("translation", "waits")

    def __init__(
        self, translation: Translation, address: int, depth: int, trail: IntList, waits: bool
    ) -> None:
        super().__init__(
            _READ,
            translation.app,
            translation.asid,
            translation.sm,
            translation.tag,
            address,
            -1,
            1,
            depth,
            None,
            trail,
        )
        self.translation = translation
        self.waits = waits


@attr.s(auto_attribs=True, eq=False, repr=False)
class StageCounters:
    """What one stage of a user's own did for one application."""

    received: int = count("translations that came from the stage above")
    answered: int = count("of these, answered here, without the stage below")
    returned: int = count("of these, answered by the stage below")
    sent: int = count("translations sent on to the stage below")
    prefetches: int = count("pages that this stage asked for by itself")
    reads: int = count("reads and writes of what it keeps in memory", later=True)


@mypyc_attr(allow_interpreted_subclasses=True)
class StageProcess(Stage):
    """The base of a stage of one's own: a process that owns the ports and keeps the books.

    A subclass says in `asked` what becomes of a translation that has come: it calls `reply`,
    `send_on`, or returns False to be asked again when the next stage has room; and in `answered`
    what becomes of the answers of the stage below.  Options are keyword-only parameters of
    ``__init__(self, site, *, ...)``.

    One that keeps its tables in memory takes room for them with `reserve`, and asks `read` for what
    it needs of them, which comes to `came`.

    Attributes:
        env, pages: the environment, and all pages.
        counters: by application.
    """

    laws: Sequence[Law] = laws_of(
        [StageCounters],
        Law(
            "received", "answered + returned", "translations that came", "those that were answered"
        ),
    )

    def __init__(self, site: StageSite) -> None:
        requests: Port[Translation] = Port(
            site.env, f"{site.name}.requests", site.trip, depth=site.queue
        )
        super().__init__(site.name, f"stage/{site.kind}", site.index, requests)
        self.env = site.env
        self.site = site
        self.below = site.below
        self.pages = site.pages
        self.answers: Port[Translation] = Port(site.env, f"{site.name}.answers")
        self.counters = [StageCounters() for _ in range(site.apps)]
        self.reads: Port[StageRead] = Port(site.env, f"{site.name}.reads")
        self._unsent: list[tuple[StageRead, Sink]] = []
        """Reads for which there is no room yet; those behind the first wait for it."""
        self._read: list[StageRead] = []
        """Those that have come and are not dealt with."""
        self._under_way = 0
        self._reading = 0
        self.process = site.env.start(self._run())
        self.requests.connect(self.process)
        self.answers.connect(self.process)
        self.reads.connect(self.process)

    # -- what a subclass says --------------------------------------------------------------------

    @abstractmethod
    def asked(self, translation: Translation) -> bool:
        """A translation has come: answer it, or send it on; False: it has to wait.

        Asked again, from the start, when the next stage has room, for as long as it says False.
        """

    def answered(self, translation: Translation) -> None:
        """The stage below has answered: ``translation.mapping``, or None, as the page has gone.

        Unless a subclass says otherwise, the answer is passed back to the stage above; what this
        stage asked for by itself, whose for which no component waits, ends here.
        """
        if translation.back is not None:
            self.pass_back(translation)

    def came(self, translation: Translation, address: int) -> bool:
        """What `read` asked for is there: answer the translation, or send it on, or read further.

        Returns:
            False: it has to wait for room in the next stage; it is called again then.
        """
        raise NotImplementedError(f"{type(self).__qualname__} reads memory and has no method came")

    def shoot_down(self, tag: int | None) -> None:
        """Forget a page (None: all); a stage that keeps translations overrides this."""

    # -- what a subclass may do ------------------------------------------------------------------

    @property
    def room(self) -> bool:
        """Whether the stage below takes another translation."""
        return not self.below.full

    def reply(self, translation: Translation, mapping: Mapping | None, delay: int = 0) -> None:
        """Answer a translation here, `delay` cycles from now.

        Raises:
            WrongMappingError: that is not what the page table says of its page, or it is None: a
                stage sends on what it does not have.
        """
        tag = translation.tag
        right = self.pages.find(tag)
        if mapping is None or (right is not mapping and not became_part(mapping, right, tag)):
            raise wrong_mapping(f"{self.name} ({type(self).__qualname__})", tag, mapping, right)
        self.counters[translation.app].answered += 1
        translation.mapping = mapping
        translation.read_at = self.env.now
        translation.answer(delay)

    def send_on(self, translation: Translation, delay: int = 0, below: Sink | None = None) -> None:
        """Send a translation to the stage below, which has room; its answer comes to `answered`.

        Args:
            translation: it.
            delay: cycles that it takes longer.
            below: the stage below of another GPU, if it goes there.
        """
        self.counters[translation.app].sent += 1
        self._send(translation, delay, below)

    def prefetch(self, tag: int, cause: Translation, delay: int = 0) -> bool:
        """Ask the stage below for a page, on behalf of the request `cause` for another page.

        Returns:
            whether it was asked: it has room, and the page is mapped or lies in an array.
        """
        if not self.room or not self.pages.knows(tag):
            return False
        self.counters[cause.app].prefetches += 1
        wanted = Translation(
            cause.app,
            cause.asid,
            cause.sm,
            tag,
            cause.slot,
            cause.warp_slot,
            pair(self.site.state, self.env.now),
            kind=int(Purpose.PREFETCH),
        )
        self._send(wanted, delay)
        return True

    def reserve(self, size: int) -> int:
        """Take `size` bytes of memory for good, for tables; returns their first address.

        Raises:
            UserError: there is no room beside page tables and data.
        """
        assert self.site.memory is not None, "no machine is around it"
        return self.site.memory.reserve(size)

    def read(self, translation: Translation, address: int) -> None:
        """Read 32 bytes of memory for a translation that waits for them; they come to `came`.

        They take the way of page-table reads: through the L2 cache, or to DRAM (``walk.memory``).
        """
        self._ask_memory(translation, address, waits=True)

    def write(self, translation: Translation, address: int) -> None:
        """Change 32 bytes of memory, for which nothing waits.

        It is moved, and counted, as a read is [our choice: a table's line is changed in the cache].
        """
        self._ask_memory(translation, address, waits=False)

    def pass_back(self, translation: Translation, delay: int = 0) -> None:
        """Hand an answer of the stage below to the stage above, which asked for it."""
        self.counters[translation.app].returned += 1
        translation.answer(delay)

    # -- the process -----------------------------------------------------------------------------

    def _ask_memory(self, translation: Translation, address: int, *, waits: bool) -> None:
        memory = self.site.memory
        assert memory is not None, "no machine is around it"
        self.counters[translation.app].reads += 1
        self._reading += 1
        trail = pair(self.site.state, self.env.now)
        read = StageRead(translation, address, memory.depth, trail, waits)
        read.return_to(self.reads)
        self._unsent.append((read, memory.way(read)))
        if len(self._unsent) == 1:
            self._send_reads()

    def _send_reads(self) -> None:
        """Send reads as long as there is room for the next one."""
        while self._unsent:
            read, way = self._unsent[0]
            if way.full:
                way.when_free(self.process.wake)
                return
            way.send(read)
            del self._unsent[0]

    def _take_reads(self) -> bool:
        """Deal with what has been read; True: one has to wait for room below."""
        while (read := self.reads.take()) is not None:
            self._reading -= 1
            if read.waits:
                self._read.append(read)
        while self._read:
            read = self._read[0]
            if not self.came(read.translation, read.address):
                return True
            del self._read[0]
        return False

    def _send(self, translation: Translation, delay: int, below: Sink | None = None) -> None:
        translation.trail.append(self.site.below_state)
        translation.trail.append(self.env.now + delay)
        translation.return_to(self.answers)
        self._under_way += 1
        (self.below if below is None else below).send(translation, delay)

    def _run(self) -> Generator[int | None, None, None]:
        requests, answers = self.requests, self.answers
        while True:
            while (answer := answers.take()) is not None:
                self._under_way -= 1
                answer.trail.append(self.site.state)
                answer.trail.append(self.env.now)
                self.answered(answer)
            if self._unsent:
                self._send_reads()
            blocked = self._take_reads()
            while not blocked and (translation := requests.head()) is not None:
                if translation.trail[-2] != self.site.state:
                    translation.trail.append(self.site.state)
                    translation.trail.append(self.env.now)
                blocked = not self.asked(translation)
                if not blocked:
                    requests.take()
                    self.counters[translation.app].received += 1
            if blocked:
                self._wait()
            upcoming = min(answers.next_cycle(), NEVER if blocked else requests.next_cycle())
            upcoming = min(upcoming, self.reads.next_cycle())
            yield None if upcoming == NEVER else max(upcoming - self.env.now, 0)

    def _wait(self) -> None:
        """Wake when the stage below has room, or, if it has, in the next cycle."""
        if self.room:
            self.process.wake.at(self.env.now + 1)
        else:
            self.below.when_free(self.process.wake)

    # -- reports ---------------------------------------------------------------------------------

    def in_flight(self) -> int:
        return self._under_way + len(self.requests) + self._reading + len(self._read)

    def waiting(self) -> Iterator[str]:
        if self._reading:
            yield f"{self.name}: {self._reading} reads, {len(self._unsent)} wait for memory"
        if self.requests:
            yield f"{self.name}: {len(self.requests)} translations queue"
        if self._under_way:
            yield f"{self.name}: {self._under_way} translations wait for {self.below.name}"

    def sent(self, paths: Sequence[str]) -> str:
        return f"{self.path}.sent + {self.path}.prefetches"

    def received(self, paths: Sequence[str]) -> str:
        return f"{self.path}.received"

    def app_counters(self, app: int) -> Iterable[object]:
        return (self.counters[app], *self.own_counters(app))

    def own_counters(self, app: int) -> tuple[Any, ...]:
        """Counters of a subclass for one application: attrs instances made with `count`."""
        return ()
