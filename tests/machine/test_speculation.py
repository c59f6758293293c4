"""Speculative fetches: a right guess hides a translation, a wrong one is squashed and fetched anew.

The machine is that of `test_latency`: a load that misses everywhere takes 645 cycles, of which its
walk takes 500, and the way to DRAM and back, from the L1 cache, 129.
"""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from gpusim.config.schema import GpuConfig
from gpusim.config.speculation import SpeculationConfig
from gpusim.core.errors import UserError
from gpusim.core.mapping import VPN_MASK, Mapping
from gpusim.core.policy import PolicyConfig
from gpusim.core.request import Requester, Translation
from gpusim.core.unboxed import pair
from gpusim.files.units import cycles
from gpusim.hardware.sm.frame_guess import ContiguousGuess, FrameGuess
from gpusim.machine import Machine, Tenant
from gpusim.machine.load import load_model
from tests.machine.bench import SMALL, Run, Script, ScriptedApplication, ScriptedLaunch, change

BASE, PAGE = 1 << 32, 4096
VPN = BASE // PAGE
MISS_EVERYWHERE = 645
BY = Translation(0, 0, 0, 0, 0, 0, pair(0, 0))
NAMES = ("guesses", "right", "wrong", "used", "unused", "fetched_bytes", "wasted_bytes")


class Plus(FrameGuess):
    """A page lies as far from page 0 as its frame from frame 0, and `off` beside that."""

    def __init__(self, *, off: int = 0) -> None:
        self.off = off
        self.heard: list[tuple[int, int | None]] = []

    def guess(self, tag: int, requester: Requester) -> int | None:
        return (tag & VPN_MASK) - VPN + self.off

    def learned(self, tag: int, mapping: Mapping, guessed: int | None) -> None:
        self.heard.append((mapping.frame(tag), guessed))


class Nonsense(FrameGuess):
    def guess(self, tag: int, requester: Requester) -> int | None:
        return 0.5  # type: ignore[return-value]


def machine(policy: str = "Plus", entries: int = 32, **options: Any) -> GpuConfig:
    kind = PolicyConfig(f"{__name__}:{policy}", options)
    return attrs.evolve(SMALL, speculation=SpeculationConfig(kind, entries))


def counts(run: Run) -> list[int]:
    return [run.count("speculation", name) for name in NAMES]


def pages(*numbers: int) -> Script:
    places = (BASE + PAGE * page + 128 * (page % 32) for page in numbers)
    return [step for place in places for step in (("load", place), ("wait",))]


@pytest.mark.parametrize("translation", ["before", "parallel", "after"])
def test_a_right_guess_hides_the_way_to_memory(translation: str) -> None:
    config = change(machine(), l1={"translation": translation})
    run = Run(config, pages(0, 1))
    plain = Run(change(SMALL, l1={"translation": translation}), pages(0, 1))
    assert counts(run) == [2, 2, 0, 2, 0, 256, 0]
    saved = [before - after for before, after in zip(plain.latencies, run.latencies, strict=True)]
    assert saved[0] == saved[1] > 100, "the walk takes longer than the line"
    assert run.count("l2", "lookups") == plain.count("l2", "lookups")
    assert run.count("dram", "data_reads") == plain.count("dram", "data_reads")
    for name in ("lookups", "misses", "fills"):
        assert run.count("l1", name) == plain.count("l1", name)


def test_a_wrong_guess_costs_traffic_and_nothing_else() -> None:
    run, plain = Run(machine(off=7), pages(0, 1)), Run(SMALL, pages(0, 1))
    assert run.latencies == plain.latencies
    assert counts(run) == [2, 0, 2, 0, 2, 256, 256]
    assert run.count("dram", "data_reads") == plain.count("dram", "data_reads") + 2
    assert run.count("l1", "misses") == plain.count("l1", "misses")


def test_a_line_that_comes_after_its_translation_is_awaited() -> None:
    slow = change(machine(), walk={"latency": cycles(1)})
    run, plain = Run(slow, pages(0)), Run(attrs.evolve(slow, speculation=None), pages(0))
    assert counts(run)[:4] == [1, 1, 0, 1]
    assert 0 < plain.latencies[0] - run.latencies[0] < 30
    assert sum(run.states().values()) < sum(plain.states().values())


def test_loads_of_one_line_share_a_fetch() -> None:
    one = [("load", BASE), ("load", BASE + 4), ("wait",)]
    run = Run(machine(), one)
    assert counts(run)[:4] == [1, 1, 0, 1]
    assert run.count("l1", "merged") == 1


def test_stores_are_not_guessed() -> None:
    run = Run(machine(), [("store", BASE), ("wait",)])
    assert counts(run) == [0] * len(NAMES)


def test_the_policy_learns_of_every_translation() -> None:
    run = Run(machine(off=1), pages(0, 1, 0))
    policy = run.machine.speculations[0].policy
    assert isinstance(policy, Plus)
    assert policy.heard == [(0, 1), (1, 2)], "page 0 is in the TLB at last"


def test_a_page_that_moves_before_its_translation_comes() -> None:
    def move(machine: Machine) -> None:
        def later() -> Any:
            yield 300
            machine.pages.remap(VPN)

        machine.env.start(later())

    launch = ScriptedLaunch([[pages(0)]])
    tenants = [Tenant("scripted", ScriptedApplication([launch]), range(1))]
    run = Run.of(machine(), tenants, move)
    guesses, right, wrong, used, unused, *_ = counts(run)
    assert guesses == right + wrong + run.count("speculation", "void")
    assert (used, wrong) == (0, guesses)
    assert unused == guesses


def test_entries_that_no_load_took_make_room() -> None:
    script = [("load", *[BASE + PAGE * page + 128 * (page % 32) for page in range(8)]), ("wait",)]
    run = Run(machine(entries=4), script)
    assert run.count("speculation", "guesses") == 4
    assert run.count("speculation", "no_room") == 4


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"speculation.entries": 0}, r"speculation\.entries.*1 or more"),
        ({"speculation.guess": "contigous"}, "did you mean 'contiguous'"),
        ({"speculation.guess": "contiguous", "l1.translation": "after-l2"}, "speculation|fbt"),
    ],
)
def test_what_cannot_be(keys: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        load_model("tiny", overrides=keys)


def test_it_is_refused_with_paging() -> None:
    with pytest.raises(UserError, match="speculation: must be none with paging"):
        load_model("tiny", ["demand-paging"], overrides={"speculation.entries": 8})


def test_a_frame_that_is_not_there_is_not_fetched() -> None:
    run = Run(machine(off=-5), pages(0, 1))
    assert counts(run) == [0] * len(NAMES)
    assert run.count("speculation", "nowhere") == 2


def test_a_guess_that_is_no_frame() -> None:
    config = machine("Nonsense")
    with pytest.raises(UserError, match=r"speculation\.guess: Nonsense guessed 0\.5"):
        Run(config, pages(0))


def test_a_region_has_the_difference_of_its_last_page() -> None:
    guess = ContiguousGuess(regions=2, region_pages=8, confidence=1)

    def ask(tag: int) -> int | None:
        return guess.guess(tag, BY)

    assert ask(3) is None
    guess.learned(3, Mapping(3, 13), None)
    assert ask(4) is None, "not yet right a second time"
    guess.learned(4, Mapping(4, 14), None)
    assert ask(5) == 15
    guess.learned(5, Mapping(5, 99), 15)
    assert ask(6) is None
    for page in (9, 10, 17, 18):
        guess.learned(page, Mapping(page, page + 1), None)
    assert (ask(11), ask(19)) == (12, 20)
    guess.learned(6, Mapping(6, 100), None)
    assert ask(11) is None, "its region went"
