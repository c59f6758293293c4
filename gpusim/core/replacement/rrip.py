"""Replacement by re-reference interval prediction (Jaleel et al., ISCA 2010)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mypy_extensions import mypyc_attr

from gpusim.core.errors import at_least
from gpusim.core.registry import Slot, register_policy
from gpusim.core.replacement.ways import ReplacementByWay
from gpusim.core.structures import Storage, bits_for


@mypyc_attr(allow_interpreted_subclasses=True)
class Srrip(ReplacementByWay):
    """New entries are expected back late, used ones soon: a scan replaces itself, not the others.

    Each entry has a prediction of when it is used again, from 0 (soon) to 2^bits - 1 (in the
    distant future).  A new entry is given the last but one; a use sets it to 0 (SRRIP-HP, "hit
    priority").  The first way with the last one goes; if there is none, all entries of the set
    age by one until there is (Jaleel et al., *High Performance Cache Replacement Using
    Re-Reference Interval Prediction (RRIP)*, ISCA 2010, §4.1).

    Args:
        bits: bits of a prediction; with one, it is "not recently used".
    """

    def __init__(self, *, bits: int = 2) -> None:
        at_least(1, bits=bits)
        super().__init__()
        self._distant = (1 << bits) - 1
        self._predictions: list[list[int]] = []

    def adopt(self, entries: Any, ways: int) -> int:
        self._predictions.append([self._distant] * ways)
        return super().adopt(entries, ways)

    def used(self, index: int, way: int) -> None:
        self._predictions[index][way] = 0

    def filled(self, index: int, way: int) -> None:
        self._predictions[index][way] = self._distant - 1

    def way_that_goes(self, index: int) -> int:
        predictions = self._predictions[index]
        age = self._distant - max(predictions)
        if age:
            predictions[:] = [one + age for one in predictions]
        return predictions.index(self._distant)

    def storage(self, sets: int, ways: int) -> Sequence[Storage]:
        bits = self._distant.bit_length()
        return [Storage("re-reference predictions", sets * ways, {"prediction": bits})]


register_policy(Slot.REPLACEMENT, "srrip", Srrip)


@mypyc_attr(allow_interpreted_subclasses=True)
class Brrip(Srrip):
    """As srrip, but most new entries go at once: part of a working set that is too large stays.

    Only each `throttle`-th new entry of a structure is predicted as there; the
    others are predicted for the distant future (Jaleel et al., ISCA 2010, §4.2, whose low
    probability is 1/32; our choice: a counter instead of a random number).

    Args:
        throttle: one in `throttle` new entries is predicted to be used soon.
        bits: bits of a prediction.
    """

    def __init__(self, *, throttle: int = 32, bits: int = 2) -> None:
        super().__init__(bits=bits)
        at_least(1, throttle=throttle)
        self._throttle = throttle
        self._until_long = throttle

    def filled(self, index: int, way: int) -> None:
        self._until_long -= 1
        if self._until_long:
            self._predictions[index][way] = self._distant
        else:
            self._until_long = self._throttle
            super().filled(index, way)

    def storage(self, sets: int, ways: int) -> Sequence[Storage]:
        counter = Storage("bimodal throttle", 1, {"counter": bits_for(self._throttle)})
        return [*super().storage(sets, ways), counter]


register_policy(Slot.REPLACEMENT, "brrip", Brrip)
