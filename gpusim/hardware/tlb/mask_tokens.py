"""TLB-fill tokens and the bypass cache of a shared TLB (MASK §5.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, Self

import attr
from mypy_extensions import mypyc_attr

from gpusim.core.counters import count
from gpusim.core.errors import OptionError, at_least, one_of
from gpusim.core.mapping import ASID_SHIFT, Mapping
from gpusim.core.metrics import FRACTION, Metric, Ratio, declare_metrics
from gpusim.core.policy import Ending
from gpusim.core.registry import Slot, register_policy
from gpusim.core.replacement import Lru
from gpusim.core.request import Requester
from gpusim.core.signals import Signals
from gpusim.core.structures import Dimensions, Storage
from gpusim.hardware.tlb.fill import FillPolicy
from gpusim.hardware.tlb.sets import Entry, PlainSet
from gpusim.hardware.tlb.tokens import HillClimbTokens, PaperTokens, Tokens

_ENTRY_BITS: Final = 64
"""An entry of the bypass cache, whatever it has beside page and frame (MASK §7.4)."""

_ROLES: Final = ("first", "last")
"""Names that a TLB has for signals beside its own."""


@attr.s(auto_attribs=True, repr=False)
class TokenCounters:
    """What tokens did for one application in one TLB; fills = array_fills + bypass_fills."""

    array_fills: int = count("translations that went into the TLB")
    bypass_fills: int = count("those that did not, but into the bypass cache if there is one")
    bypass_probes: int = count("lookups for which the bypass cache was all that could have helped")
    bypass_hits: int = count("those that it helped, which are hits of the TLB, too")
    epochs: int = count("epochs after which tokens were dealt out")
    epoch_warps: int = count("warps that used an SM, summed over these epochs")
    epoch_tokens: int = count("tokens dealt out, summed over these epochs")


declare_metrics(
    TokenCounters,
    Metric(
        "tlb_{}_bypass_hit_rate",
        FRACTION,
        "{} TLB bypass cache: hit rate",
        Ratio("bypass_hits", "bypass_probes"),
    ),
)


@mypyc_attr(allow_interpreted_subclasses=True)
class MaskTokens(FillPolicy):
    """Only warps that hold a token fill the TLB; what the others miss goes to a bypass cache.

    The bypass cache is fully associative and LRU.  What is found there does not move to the TLB
    [our choice].

    Args:
        apps: applications that share the GPU.
        sms: SMs that the TLB serves.
        warps: warp slots of an SM.
        token_policy: an application has fewer tokens after its miss rate rose by more than `band`,
            more after it fell by more (``"paper"``); or fewer after it fell, else more
            (``"hillclimb"``, as in the released simulator).
        initial: tokens after the first epoch, as a share of the application's warps; until then
            everything fills.
        step: change after an epoch, as a share of the warps [our choice: as the released
            simulator].
        epoch: core cycles of an epoch; for ``"paper"`` only.
        band: difference of two miss rates that counts [our choice: the paper says 2 %]; for
            ``"paper"`` only.
        accesses: lookups of the application in an epoch, those of the first TLBs included; for
            ``"hillclimb"`` only.
        bypass_above: miss rate up to which everything fills; for ``"hillclimb"`` only.
        bypass_entries: entries of the bypass cache; 0: none, so that what has no token is dropped.
        any_waiter: a translation fills the TLB if any of the warps whose misses merged holds a
            token, not only the first [our choice].
    """

    def __init__(
        self,
        apps: int,
        sms: int,
        warps: int,
        *,
        token_policy: str = "paper",  # noqa: S107
        initial: float = 0.8,
        step: float = 0.1,
        epoch: int = 100_000,
        band: float = 0.02,
        accesses: int = 10_000,
        bypass_above: float = 0.1,
        bypass_entries: int = 32,
        any_waiter: bool = False,
    ) -> None:
        makers: dict[str, Callable[[], Tokens]] = {
            "paper": lambda: PaperTokens(initial, step, epoch, band),
            "hillclimb": lambda: HillClimbTokens(initial, step, accesses, bypass_above),
        }
        one_of(makers, token_policy=token_policy)
        at_least(0, bypass_entries=bypass_entries)
        at_least(1, epoch=epoch, accesses=accesses)
        _parts(initial=initial, step=step, band=band, bypass_above=bypass_above)
        self._tokens = [makers[token_policy]() for _ in range(apps)]
        self._counters = [TokenCounters() for _ in range(apps)]
        self._bypass = PlainSet(bypass_entries, Lru())
        self._first_only = not any_waiter
        self._sms = sms
        self._warps = warps
        self._of_both_levels = token_policy == "hillclimb"  # noqa: S105
        self._announce: Callable[..., None] | None = None

    def attach(self, signals: Signals) -> None:
        self._announce = signals.announce
        signals.listen("warp.begin", self.warp_began)
        signals.listen("warp.end", self.warp_ended)
        if self._of_both_levels and _behind_others(signals):
            signals.listen("tlb.first.lookup", self.first_looked_up)

    def warp_began(self, sm: int, warp_slot: int, app: int, cycle: int) -> None:
        """A warp issues on an SM from now on."""
        self._advance(app, cycle)
        self._tokens[app].warp_began(sm, warp_slot)

    def warp_ended(self, sm: int, warp_slot: int, app: int, cycle: int) -> None:
        """A warp has issued its last instruction."""
        self._advance(app, cycle)
        self._tokens[app].warp_ended(sm, warp_slot)

    def first_looked_up(self, level: int, tlb: int, tag: int, hit: bool, cycle: int) -> None:
        """A first TLB was asked for a page; an application's address space is its number."""
        app = tag >> ASID_SHIFT
        self._advance(app, cycle)
        self._tokens[app].count_lookup(hit)

    def admits(
        self, tag: int, mapping: Mapping, requesters: Sequence[Requester], cycle: int
    ) -> bool:
        app = requesters[0].app
        self._advance(app, cycle)
        tokens, counters = self._tokens[app], self._counters[app]
        waiters = requesters[:1] if self._first_only else requesters
        if any(tokens.held_by(waiter.sm, waiter.warp_slot) for waiter in waiters):
            counters.array_fills += 1
            return True
        counters.bypass_fills += 1
        self._bypass.insert(Entry(tag, mapping))
        return False

    def find(self, tag: int, requester: Requester) -> Mapping | None:
        entry = self._bypass.find(tag)
        if entry is None:
            return None
        counters = self._counters[requester.app]
        counters.bypass_probes += 1
        counters.bypass_hits += 1
        return entry.mapping

    def looked_up(self, requester: Requester, hit: bool, cycle: int) -> None:
        app = requester.app
        self._advance(app, cycle)
        self._tokens[app].count_lookup(hit)
        if not hit and self._bypass.capacity:
            self._counters[app].bypass_probes += 1

    def _advance(self, app: int, cycle: int) -> None:
        epoch = self._tokens[app].advance(cycle)
        if epoch is None:
            return
        counters = self._counters[app]
        counters.epochs += 1
        counters.epoch_warps += epoch.warps
        counters.epoch_tokens += epoch.tokens
        if self._announce is not None:
            self._announce(app, *epoch)

    def invalidate(self, tag: int) -> bool:
        return self._bypass.remove(tag)

    def flush(self) -> None:
        self._bypass.clear()

    def counters(self, app: int) -> tuple[object, ...]:
        return (self._counters[app],)

    def acted(self) -> int:
        """How many fills it denied, for lack of a token."""
        return sum(one.bypass_fills for one in self._counters)

    @classmethod
    def warnings(cls, made: Sequence[Self], ending: Ending) -> Iterator[str]:
        """Applications that looked pages up, but to which no tokens were dealt out."""
        reasons: dict[tuple[str, str], list[str]] = {}
        for app, name in enumerate(ending.apps):
            if not any(one._counters[app].epochs for one in made):
                busiest = max((one._tokens[app] for one in made), key=lambda own: own.lookups)
                if busiest.lookups:
                    reasons.setdefault(busiest.why_none(ending.cycles), []).append(name)
        for (reason, option), names in reasons.items():
            whom = "" if len(names) == len(ending.apps) else f" to {', '.join(names)}"
            yield (
                f"'mask-tokens' never dealt out tokens{whom}: {reason}; set {ending.key}.{option}"
            )

    def storage(self, dimensions: Dimensions) -> Sequence[Storage]:
        """As MASK §7.4 counts, but with a bit for each warp slot instead of 256 a core.

        That is what makes 13 bytes a core.  There are counters for as many applications as there
        are SMs; miss rates of the epoch before are not counted.
        """
        entry = {"page": dimensions.page_bits, "frame": dimensions.frame_bits}
        entry["rest"] = max(_ENTRY_BITS - sum(entry.values()), 0)
        of_a_core = {"hits": 16, "misses": 16, "warps seen": self._warps, "number of them": 8}
        kept = [
            Storage("bypass cache", self._bypass.capacity, entry),
            Storage("token counters", self._sms, {"tokens": 15}),
            Storage("direction registers", self._sms, {"direction": 1}),
            Storage("counters of the cores", self._sms, of_a_core),
        ]
        return [one for one in kept if one.bits]


register_policy(Slot.TLB_FILL, "mask-tokens", MaskTokens)


def _behind_others(signals: Signals) -> bool:
    """Whether there are other TLBs before the last one: the first one and the last one are two."""
    names = [name for name in signals.names() if name.endswith(".lookup")]
    return len({name for name in names if name.startswith("tlb.")}) > len(_ROLES) + 1


def _parts(**options: float) -> None:
    """Refuse options that are no parts of a whole."""
    at_least(0, **options)
    for name, value in options.items():
        if value > 1:
            raise OptionError(name, "must be 1 or less: it is a part of a whole")
