"""A TLB whose ways are dealt out to applications for good (STAR §VI-E)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs
from mypy_extensions import mypyc_attr

from gpusim.config.translation import TlbConfig
from gpusim.core.errors import OptionError, UserError
from gpusim.core.even_split import split_ways
from gpusim.core.mapping import ASID_SHIFT, Mapping
from gpusim.core.policy import PolicyConfig
from gpusim.core.registry import Slot, register_policy
from gpusim.core.signals import Signals
from gpusim.core.structures import Dimensions, Storage
from gpusim.hardware.tlb.array import ArrayTraits, TlbArray, stated_cycles
from gpusim.hardware.tlb.make import make_array

EQUAL: Final = "equal"


@mypyc_attr(allow_interpreted_subclasses=True)
class StaticWaysArray(TlbArray):
    """Each application finds and replaces entries in its own ways of every set only.

    Args:
        config: the TLB.
        ways_of: ways of each application, in the order of the workload, such as ``"4/2/2"``; or
            ``"equal"``: equal parts, as in an L2 cache with ``partition = "ways"``.
        of: the array that it is made of; by default ``"sub-entry"`` if its entries have
            sub-entries, else ``"set-associative"``.
    """

    replaces = True

    def __init__(self, config: TlbConfig, *, ways_of: str, of: str = "") -> None:
        self._config = config
        self._policy = PolicyConfig(of or _plain_array(config))
        self._equal = ways_of == EQUAL
        ways = [config.ways] if self._equal else _parse(ways_of, config.ways)
        self._parts = self._dealt_out(ways)
        self._most_spaces = 0 if self._equal else len(ways)
        self._of_a_part = self._parts[0].traits()
        if self._of_a_part.by_block_slot:
            raise OptionError("of", "must be an array that pages index, not slots of blocks")

    def traits(self) -> ArrayTraits:
        part = self._of_a_part
        return attrs.evolve(
            super().traits(),
            most_spaces=self._most_spaces,
            large_pages=part.large_pages,
            hashable=part.hashable,
            spills=part.spills,
            spills_entries=False,
        )

    def attach(self, signals: Signals) -> None:
        if self._equal:
            self._parts = self._dealt_out(_equal_parts(self._config.ways, signals.apps))
            if self.spilled is not None:
                self.spill_into(self.spilled)
        for part in self._parts:
            part.attach(signals)

    def spill_into(self, spilled: list[dict[int, Mapping]]) -> None:
        super().spill_into(spilled)
        for part in self._parts:
            part.spill_into(spilled)

    def lookup(self, tag: int, slot: int) -> Mapping | None:
        part = self._parts[tag >> ASID_SHIFT]
        mapping = part.lookup(tag, slot)
        self.extra_cycles, self.pipelined_cycles = stated_cycles(part)
        return mapping

    def insert(self, tag: int, mapping: Mapping, slot: int) -> int:
        return self._parts[tag >> ASID_SHIFT].insert(tag, mapping, slot)

    def invalidate(self, tag: int) -> bool:
        return self._parts[tag >> ASID_SHIFT].invalidate(tag)

    def flush(self) -> None:
        for part in self._parts:
            part.flush()

    def storage(self, dimensions: Dimensions) -> Sequence[Storage] | None:
        return make_array(self._of(self._config)).storage(dimensions)

    def counters_of(self, asid: int) -> tuple[object, ...]:
        part = self._parts[asid]
        return (*part.counters(), *part.counters_of(asid))

    def _dealt_out(self, ways: Sequence[int]) -> list[TlbArray]:
        """An array for each application, with its number of `ways` of every set."""
        sets = self._config.entries // self._config.ways
        parts = [attrs.evolve(self._config, entries=sets * one, ways=one) for one in ways]
        return [make_array(self._of(part)) for part in parts]

    def _of(self, config: TlbConfig) -> TlbConfig:
        """A TLB of the array that the parts are, without what the level puts around all."""
        return attrs.evolve(config, array=self._policy, hash=None, victims=None)


register_policy(Slot.TLB_ARRAY, "static-ways", StaticWaysArray)


def _plain_array(config: TlbConfig) -> str:
    return "sub-entry" if config.sub_entries > 1 else "set-associative"


def _equal_parts(ways: int, apps: int) -> list[int]:
    """Ways of each application, which differ by one at most.

    Raises:
        UserError: there are more applications than ways.
    """
    if apps > ways:
        raise UserError(
            f'ways_of = "{EQUAL}": {ways} ways of a TLB cannot be dealt out to {apps} applications'
        )
    return split_ways(ways, apps)


def _parse(ways_of: str, ways: int) -> list[int]:
    """Ways of each application.

    Raises:
        OptionError: they are no numbers, or do not add up to all ways.
    """
    words = ways_of.split("/")
    numbers = [int(word) for word in words if word.isascii() and word.isdigit()]
    if len(numbers) < len(words) or 0 in numbers or sum(numbers) != ways:
        raise OptionError(
            "ways_of",
            f'must be "{EQUAL}", or numbers above 0 that add up to {ways} ways, such as '
            f'"{ways - 1}/1"',
        )
    return numbers
