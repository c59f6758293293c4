"""Signals: the probes of a machine by name, for policies, and a clock that they can only read.

A policy is handed its `Signals` once, by ``attach(signals)``, when the machine has been built and
before its first cycle.  It may keep them, listen to whatever it likes, and share a table with the
other policies of the machine.  A listener may change the state of its own policy and nothing else:
a policy decides, processes take time.

``docs/extend.md`` lists all signals, with the arguments of each.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from mypy_extensions import mypyc_attr

from gpusim.core.errors import UserError, few, nearest
from gpusim.core.mapping import Mapping

if TYPE_CHECKING:  # programs, which know no engine, know policies by name
    from gpusim.core.engine import EventLoop, Probe
    from gpusim.core.warp_program import Buffer

T = TypeVar("T")

OWN_SIDE = (
    "with crossbar.order = 'memory-first', policies of SMs, TLBs and L1 caches know what is on "
    "their side of the crossbar, and those of the L2 cache, DRAM and walkers what is on theirs"
)

Find = Callable[[int], Mapping | None]
"""The mapping that covers a tagged page now, or None."""


@mypyc_attr(allow_interpreted_subclasses=True)
class SignalBoard:
    """All probes of one machine by name; makes the `Signals` of each policy.

    Args:
        env: the clock of the machine.
        apps: applications that share the machine.
        find: the mapping that covers a tagged page now, or None.
    """

    def __init__(self, env: EventLoop, apps: int, find: Find) -> None:
        self.env = env
        self.apps = apps
        self.find = find
        self.find_of: dict[int, Find] = {}
        """By SM, where GPUs of a node have tables of their own: what that of the GPU says."""
        self.shared: dict[Hashable, object] = {}
        self.looks: dict[str, Callable[[int, int], Mapping | None]] = {}
        self.places: dict[str, Callable[[int, int, Mapping], None]] = {}
        """By name of a TLB level: what a look into the TLB of an SM finds of a page."""
        self.arrays: dict[int, tuple[Buffer, ...]] = {}
        """By address space."""
        self.mappings: Callable[[int], Iterator[Mapping]] = _no_mappings
        """All pages of an address space that are mapped now."""
        self.probes: dict[str, list[tuple[Collection[int] | None, Probe[...]]]] = {}
        self.beyond: SignalBoard | None = None
        """That of the other side of the machine, of which policies here know nothing."""

    def part_from(self, other: SignalBoard) -> None:
        """Let this board, and another one, be of two sides of a machine."""
        self.beyond = other
        other.beyond = self

    def offer(self, name: str, probe: Probe[...], sms: Collection[int] | None = None) -> None:
        """Offer a probe as a signal; `sms`: the SMs whose events it announces, None: not by SM."""
        self.probes.setdefault(name, []).append((sms, probe))

    def find_for(self, sms: Collection[int]) -> Find:
        """What a policy that decides for these SMs knows of pages."""
        own = {id(one): one for one in map(self.find_of.get, sms)}
        found = next(iter(own.values())) if len(own) == 1 else None
        return self.find if found is None else found

    def at(self, sms: Collection[int], announce: Callable[..., None] | None = None) -> Signals:
        """The signals for a policy that belongs to these SMs.

        Args:
            sms: whose TLBs, caches, warps or memory it decides for.
            announce: what the policy calls at the end of each of its epochs; None: not recorded.
        """
        return Signals(self, sms, announce)


@mypyc_attr(allow_interpreted_subclasses=True)
class Signals:
    """What one policy may know of the machine that it is a part of.

    Attributes:
        sms: the SMs that it decides for: one for a warp scheduler, those that share a TLB for its
            array, all for DRAM.
        apps: applications that share the machine.
        announce: to be called at the end of an epoch, so that it can be recorded; does nothing
            unless the component of the policy keeps epochs.
    """

    def __init__(
        self, board: SignalBoard, sms: Collection[int], announce: Callable[..., None] | None
    ) -> None:
        self._board = board
        self.sms = sms
        self.apps = board.apps
        self.announce = announce or _nothing
        self._find = board.find_for(sms)

    @property
    def now(self) -> int:
        """The current cycle."""
        return self._board.env._now

    def mapping(self, tag: int) -> Mapping | None:
        """What the page table says of a tagged page now; None: it is not mapped."""
        return self._find(tag)

    def arrays(self, asid: int) -> Sequence[Buffer]:
        """The arrays of the application of an address space, as far as it names any."""
        return self._board.arrays.get(asid, ())

    def mappings(self, asid: int) -> Iterator[Mapping]:
        """All pages of an address space that are mapped now, in the order of their numbers.

        In `attach` these are the ones that are mapped ahead of the program: by frames that are
        ``eager``, or with ``memory.mapped = "ahead"``.  Later ones are the signal ``page.map``.
        """
        return self._board.mappings(asid)

    def run(self, tag: int, within: range) -> range:
        """The pages around a page that continue it: neighbours in neighbouring frames, mapped now.

        Args:
            tag: the page.
            within: tags that may be in the run.

        Returns:
            Tags side by side, `tag` among them; empty: it is not mapped.
        """
        find = self._board.find
        mapping = find(tag)
        if mapping is None:
            return range(tag, tag)
        first, end = tag, tag + 1
        while first > within.start and _continues(find(first - 1), mapping):
            first -= 1
        while end < within.stop and _continues(find(end), mapping):
            end += 1
        return range(first, end)

    def peek(self, level: str, sm: int, tag: int) -> Mapping | None:
        """What the TLB of a level that serves an SM has of a page now; a look is no use of it.

        It takes no time: a stage that looks into the TLBs of others waits as long as that takes.

        Args:
            level: its name, ``"first"`` or ``"last"``.
            sm: index of the SM.
            tag: the page.

        Raises:
            UserError: there is no such level, or its array has no method ``peek``.
        """
        looks = self._board.looks
        if level not in looks:
            raise UserError(
                f"this machine has no TLB level {level!r}{nearest(level, looks)}; "
                f"allowed: {', '.join(looks)}"
            )
        return looks[level](sm, tag)

    def place(self, level: str, sm: int, tag: int, mapping: Mapping) -> None:
        """Put a page into the TLB of a level that serves an SM, ahead of any request there.

        It takes no time and no port.

        Args:
            level: its name, ``"first"`` or ``"last"``, of which there is one (see `peek`).
            sm: index of the SM.
            tag: the page.
            mapping: what the page table says of it now.
        """
        self._board.places[level](sm, tag, mapping)

    def names(self) -> tuple[str, ...]:
        """All signals of this machine."""
        return tuple(sorted(self._board.probes))

    def listen(self, name: str, listener: Callable[..., None], *, everywhere: bool = False) -> None:
        """Call `listener` at every event of a signal from now on.

        Args:
            name: of the signal, such as ``"l1.miss"``.
            listener: takes the arguments of the signal.
            everywhere: also at events of SMs that the policy does not decide for.

        Raises:
            UserError: the machine has no such signal.
        """
        probes = self._board.probes
        if name not in probes and (beyond := self._board.beyond) and name in beyond.probes:
            raise UserError(f"{OWN_SIDE}, and the signal {name!r} is of the other one")
        if name not in probes:
            raise UserError(
                f"this machine has no signal {name!r}{nearest(name, probes)}; "
                f"allowed: {few(self.names(), name)}"
            )
        for sms, probe in probes[name]:
            if everywhere or sms is None or not set(sms).isdisjoint(self.sms):
                probe.listen(listener)

    def at(self, sms: Collection[int]) -> Signals:
        """Signals of the same machine, for a policy that decides for these SMs only."""
        return Signals(self._board, sms, self.announce)

    def share(self, key: Hashable, make: Callable[[], T]) -> T:
        """Something that all policies of the machine share which ask for the same `key`.

        The first one that asks makes it.
        """
        shared = self._board.shared
        if key not in shared and (beyond := self._board.beyond) and key in beyond.shared:
            raise UserError(f"{OWN_SIDE}, and policies of both share {key!r}")
        if key not in shared:
            shared[key] = make()
        return cast("T", shared[key])


def _continues(other: Mapping | None, mapping: Mapping) -> bool:
    """Whether two pages differ from their frames by the same number, and have one permission."""
    return (
        other is not None
        and other.delta == mapping.delta
        and other.writable == mapping.writable
        and other.asid == mapping.asid
    )


def _no_mappings(_asid: int) -> Iterator[Mapping]:
    """A board without a page table."""
    return iter(())


def _nothing(*_: Any) -> None:
    """Epochs are not recorded here."""
