"""Which misses of the first TLB may be under way at once, and whether they merge, by hand."""

from __future__ import annotations

from typing import Any

import attrs
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.config.schema import GpuConfig
from gpusim.core.request import MemoryRequest
from tests.examples import examples
from tests.machine.bench import SMALL, Run

BASE = 1 << 32
WALKED = 1 + 10 + 500
"""L1 TLB, L2 TLB, walk."""
FETCHED = 4 + 8 + 10 + 100 + 8 + 3


def small(**first: Any) -> GpuConfig:
    """The bench's machine with another first TLB."""
    return attrs.evolve(SMALL, tlb={**SMALL.tlb, "L1": attrs.evolve(SMALL.tlb["L1"], **first)})


def load(page: int, line: int = 0) -> tuple[str, int]:
    return "load", BASE + 4096 * page + 128 * line


def page_of(request: MemoryRequest) -> int:
    return (request.vline * 128 - BASE) // 4096


def ends(run: Run) -> dict[int, int]:
    """When the load of each page ended, the last one if there were several."""
    return {page_of(one): end for one, (_, end) in zip(run.requests, run.loads, strict=True)}


def began(run: Run) -> int:
    """When the load of page 0 was issued."""
    issues = zip(run.requests, run.loads, strict=True)
    return min(issue for one, (issue, _) in issues if page_of(one) == 0)


def warmed_by(first: tuple[Any, ...], *then: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    return [first, ("wait",), *then, ("wait",)]


def three_warps(**first: Any) -> Run:
    """Page 9 is warm; then warps miss on pages 0 and 1, and a third one hits page 9, in turn."""
    return Run(
        small(**first),
        warmed_by(load(9), ("barrier",), load(0)),
        [("barrier",), ("compute", 4), load(1), ("wait",)],
        [("barrier",), ("compute", 8), load(9), ("wait",)],
    )


def two_warps(**first: Any) -> Run:
    """Page 9 is warm; then one warp misses on page 0, and another one hits page 9."""
    return Run(
        small(**first),
        warmed_by(load(9), ("barrier",), load(0)),
        [("barrier",), ("compute", 8), load(9), ("wait",)],
    )


def test_as_many_misses_as_mshrs() -> None:
    run = three_warps()
    start, end = began(run), ends(run)
    assert end[0] == start + 1 + WALKED + FETCHED
    assert end[0] < end[1] < end[0] + 20
    assert end[9] < start + 20


def test_a_second_instruction_waits_for_the_misses_of_the_first() -> None:
    run = three_warps(misses="hit-under-miss")
    filled, end = began(run) + 1 + WALKED, ends(run)
    assert end[0] == filled + FETCHED
    assert end[1] == filled + 1 + WALKED + FETCHED
    assert filled < end[9] < filled + 10, "it is behind the second one in the queue"


def test_hits_pass_an_instruction_that_waits_for_the_misses_of_another() -> None:
    """Pichai et al.: while a warp waits for its walk, others go on if they hit."""
    run = three_warps(misses="hits-pass")
    start, end = began(run), ends(run)
    filled = start + 1 + WALKED
    assert end[0] == filled + FETCHED
    assert end[9] < start + 20
    assert filled + WALKED + FETCHED <= end[1] <= filled + WALKED + FETCHED + 3
    assert run.count("tlb/L1", "lookups") == run.count("tlb/L1", "hits") + 3


def test_those_that_wait_for_other_misses_go_on_in_their_order() -> None:
    """Each page is walked when the one before it is there."""
    scripts = [
        [("barrier",), ("compute", 4 * (warp + 1)), load(page), ("wait",)]
        for warp, page in enumerate((0, 1, 2, 1))
    ]
    run = Run(small(misses="hits-pass"), *scripts)
    by_page: dict[int, list[int]] = {}
    for one, (_, end) in zip(run.requests, run.loads, strict=True):
        by_page.setdefault(page_of(one), []).append(end)
    assert by_page[0][0] < by_page[1][0] < by_page[2][0]
    assert by_page[2][0] > by_page[0][0] + 2 * WALKED
    assert by_page[1][1] < by_page[2][0], "merged with the other one on its page"
    assert run.count("walk", "walks") == 3
    assert (run.count("tlb/L1", "misses"), run.count("tlb/L1", "merged")) == (4, 1)


def test_warps_stuck_behind_a_miss_are_stalled_by_it() -> None:
    """MASK Fig. 6: warps that an active TLB miss stalls; two wait here until the first is over."""
    scripts = [
        [("barrier",), ("compute", 4 * (warp + 1)), load(page), ("wait",)]
        for warp, page in enumerate((0, 1, 2))
    ]
    run = Run(small(misses="hits-pass"), *scripts)
    counted = [run.count("tlb/L1", f"long_miss_{what}") for what in ("warps", "warps_behind")]
    assert counted == [3, 2 + 1]
    assert run.count("tlb/L1", "most_miss_warps_stalled") == 3
    assert run.count("tlb/L1", "most_miss_warps") == 1
    assert run.count("tlb/L1", "long_misses") == 3


def test_what_waits_aside_joins_a_miss_on_its_page() -> None:
    """The third warp's miss on page 1 waits, too, and shares the walk of the second one's."""
    scripts = (
        warmed_by(load(9), ("barrier",), load(0)),
        [("barrier",), ("compute", 4), load(1), ("wait",)],
        [("barrier",), ("compute", 8), load(1, 1), ("wait",)],
    )
    run = Run(small(misses="hits-pass"), *scripts)
    assert run.count("tlb/L1", "merged") == 1
    assert run.count("walk", "walks") == 3


def test_another_instruction_joins_a_miss_on_the_same_page() -> None:
    scripts = (
        warmed_by(load(9), ("barrier",), load(0)),
        [("barrier",), ("compute", 4), load(0, 1), ("wait",)],
        [("barrier",), ("compute", 8), load(9), ("wait",)],
    )
    joined, apart = (
        Run(small(misses="hit-under-miss", merging=merging), *scripts) for merging in (True, False)
    )
    assert joined.count("tlb/L1", "merged") == 1
    assert ends(joined)[9] < began(joined) + 20, "it waits in the MSHR, not in front of the TLB"
    assert ends(apart)[9] > began(apart) + WALKED
    assert apart.count("tlb/L1", "merged") == 0


def test_others_hit_meanwhile() -> None:
    run = two_warps(misses="hit-under-miss")
    assert ends(run)[9] < began(run) + 20


def test_nothing_is_translated_while_a_blocking_tlb_waits() -> None:
    run = two_warps(misses="lsu-blocking")
    filled = began(run) + 1 + WALKED
    assert filled < ends(run)[9] < filled + 10


def two_pages(rule: str) -> int:
    """How long one instruction takes that misses on two pages."""
    load_both = ("load", BASE, BASE + 4096)
    return Run(small(misses=rule), [load_both, ("wait",)]).loads[-1][1]


def test_the_pages_of_an_instruction_are_under_way_together() -> None:
    assert two_pages("hit-under-miss") == two_pages("mshr") < 700
    assert two_pages("lsu-blocking") >= two_pages("mshr") + 500


def test_without_merging_each_line_asks_the_next_level() -> None:
    script = [load(0, 0), load(0, 1), load(0, 2), ("wait",)]
    merged, apart = (Run(small(merging=merging), script) for merging in (True, False))
    for run, asked in ((merged, 1), (apart, 3)):
        assert run.count("tlb/L1", "misses") == 3
        assert run.count("tlb/L2", "lookups") == asked
        assert run.count("walk", "walks") == 1
    assert merged.count("tlb/L1", "merged") == 2
    assert apart.count("tlb/L1", "merged") == 0


def test_without_merging_every_miss_takes_an_mshr() -> None:
    run = Run(small(merging=False, mshrs=1), [load(0, 0), load(0, 1), ("wait",)])
    assert run.count("tlb/L1", "misses") == 1
    assert run.count("tlb/L1", "hits") == 1
    assert run.count("tlb/L1", "stalls") == 1


PAGES = st.lists(st.lists(st.integers(0, 20), min_size=1, max_size=3), min_size=1, max_size=6)


@settings(max_examples=examples(30), deadline=None)
@given(
    st.lists(PAGES, min_size=1, max_size=4),
    st.sampled_from(["mshr", "hit-under-miss", "hits-pass", "lsu-blocking"]),
    st.booleans(),
    st.integers(1, 4),
)
def test_all_rules_translate_the_same(
    warps: list[list[list[int]]], rule: str, merging: bool, mshrs: int
) -> None:
    """Conservation is checked at the end of every run; here, that no load is lost or doubled."""
    scripts = [
        [
            step
            for pages in warp
            for step in (("load", *(BASE + 4096 * p for p in pages)), ("wait",))
        ]
        for warp in warps
    ]
    run = Run(small(misses=rule, merging=merging, mshrs=mshrs), *scripts)
    assert len(run.loads) == sum(len(set(pages)) for warp in warps for pages in warp)
    assert run.count("walk", "walks") == len({p for warp in warps for pages in warp for p in pages})
