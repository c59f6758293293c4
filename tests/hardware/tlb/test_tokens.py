"""Tokens through series of epochs that were worked out by hand."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.hardware.tlb.tokens import Epoch, HillClimbTokens, PaperTokens, Tokens

EPOCH = 100
WARPS: dict[int, Iterable[int]] = {3: range(8), 5: (4, 9)}
"""Slots by SM: ten warps."""


def lookups(tokens: Tokens, misses: int, count: int = 100) -> None:
    """`count` lookups, of which `misses` miss."""
    for number in range(count):
        tokens.count_lookup(hit=number >= misses)


def with_warps(tokens: Tokens, warps: dict[int, Iterable[int]] = WARPS) -> Tokens:
    """Warps begin on SMs."""
    for sm, slots in warps.items():
        for slot in slots:
            tokens.warp_began(sm, slot)
    return tokens


def held(tokens: Tokens) -> dict[int, list[int]]:
    return {sm: [w for w in range(10) if tokens.held_by(sm, w)] for sm in (3, 5)}


ALL = list(range(10))


def paper(initial: float = 0.8, step: float = 0.1) -> Tokens:
    """Tokens of an application with ten warps."""
    return with_warps(PaperTokens(initial, step, EPOCH, band=0.02))


def climbing(initial: float = 0.5, accesses: int = 20) -> Tokens:
    return with_warps(HillClimbTokens(initial, 0.1, accesses, bypass_above=0.1))


def counts(tokens: Tokens, misses: list[int]) -> list[int]:
    """Tokens after each epoch of 100 lookups, of which a number are misses."""
    found = []
    for number, missed in enumerate(misses):
        lookups(tokens, missed)
        epoch = tokens.advance((number + 1) * EPOCH)
        assert epoch is not None
        assert epoch[:4] == ((number + 1) * EPOCH, 100 - missed, missed, 10)
        found.append(epoch.tokens)
    return found


def test_a_series_of_epochs() -> None:
    tokens = paper()
    assert held(tokens) == {3: ALL, 5: ALL}
    # 80 %; 60 % of misses after 50 %: down; 61 %: as it was; 50, 30, 10 %: up; 5 %: they are all
    assert counts(tokens, [50, 60, 61, 50, 30, 10, 5]) == [8, 7, 7, 8, 9, 10, 10]


def test_never_fewer_than_one_on_each_sm() -> None:
    misses = [5 * number for number in range(13)]
    assert counts(paper(), misses) == [8, 7, 6, 5, 4, 3, 2, 2, 2, 2, 2, 2, 2]


def test_from_the_bottom_it_is_one_step_up() -> None:
    misses = [10 * number for number in range(10)] + [70, 50, 30]
    assert counts(paper(), misses)[-5:] == [2, 2, 3, 4, 5]


def test_the_lowest_warps_of_each_sm_hold_them() -> None:
    tokens = paper()
    counts(tokens, [50])
    # One a SM; of the 6 others SM 3 gets 6 × 7/8 ≈ 5, SM 5 the last: as many as it has warps.
    assert held(tokens) == {3: ALL[:6], 5: ALL}
    lookups(tokens, 60)
    tokens.advance(200)
    assert held(tokens) == {3: ALL[:5], 5: ALL}
    tokens = paper(initial=0.3)
    counts(tokens, [50])
    assert held(tokens) == {3: [0, 1], 5: [4]}, "of the one beyond one a SM, 7/8 are SM 3's"
    tokens = paper(initial=0.0)
    counts(tokens, [50])
    assert held(tokens) == {3: [0], 5: [4]}, "the lowest of those that were seen"


def test_warps_that_look_nothing_up_count_too() -> None:
    """MASK §5.2: the total number of all warps in each core; §7.4: a warp uses the shader core."""
    tokens = with_warps(PaperTokens(0.8, 0.1, EPOCH, band=0.02), {3: range(50), 5: range(50)})
    tokens.count_lookup(hit=False)
    assert tokens.advance(EPOCH) == Epoch(EPOCH, 0, 1, 100, 80)
    for sm in (3, 5):
        assert [slot for slot in range(50) if tokens.held_by(sm, slot)] == [*range(40)]


def test_a_warp_that_used_its_sm_in_the_epoch_counts_even_if_it_has_ended() -> None:
    tokens = paper()
    counts(tokens, [50])
    tokens.warp_ended(5, 4)
    tokens.warp_ended(5, 9)
    lookups(tokens, 50)
    assert tokens.advance(200) == Epoch(200, 50, 50, 10, 8)
    lookups(tokens, 50)
    assert tokens.advance(300) == Epoch(300, 50, 50, 8, 8), "eight are left, and eight tokens"
    assert held(tokens) == {3: ALL, 5: ALL}, "SM 5 had none, and takes what comes"
    tokens.warp_began(5, 9)
    lookups(tokens, 50)
    assert tokens.advance(400) == Epoch(400, 50, 50, 9, 8)
    assert held(tokens) == {3: ALL[:7], 5: ALL}, "all of SM 5 have one"


def test_the_number_stays_while_the_rate_does() -> None:
    """MASK §5.2: within 2 % the token count remains unchanged, as many warps as there may be."""
    tokens = with_warps(PaperTokens(0.8, 0.1, EPOCH, band=0.02), {3: range(5)})
    lookups(tokens, 50)
    assert tokens.advance(EPOCH) == Epoch(EPOCH, 50, 50, 5, 4)
    with_warps(tokens, {3: range(5, 40)})
    lookups(tokens, 50)
    assert tokens.advance(200) == Epoch(200, 50, 50, 40, 4)
    lookups(tokens, 30)
    assert tokens.advance(300) == Epoch(300, 70, 30, 40, 8), "10 % of 40 warps are 4"
    assert [slot for slot in range(40) if tokens.held_by(3, slot)] == [*range(8)]


def test_warps_of_low_numbers_keep_their_tokens() -> None:
    tokens = paper()
    counts(tokens, [50])
    before = held(tokens)
    for slot in (7, 6):  # they come and go, and look nothing up
        tokens.warp_ended(3, slot)
        tokens.warp_began(3, slot)
    lookups(tokens, 50)
    tokens.advance(200)
    assert held(tokens) == before


def test_an_epoch_without_lookups_changes_nothing() -> None:
    tokens = paper()
    assert tokens.advance(450) is None
    assert held(tokens) == {3: ALL, 5: ALL}
    lookups(tokens, 50)
    assert tokens.advance(499) is None
    assert tokens.advance(1234) == Epoch(500, 50, 50, 10, 8), "noticed later"
    assert tokens.advance(1299) is None
    assert tokens.advance(1300) is None
    assert held(tokens) == {3: ALL[:6], 5: ALL}
    lookups(tokens, 40)
    assert tokens.advance(1400) == Epoch(1400, 60, 40, 10, 9), "compared with the last that had any"


def test_all_warps_and_no_steps_limit_nobody() -> None:
    tokens = paper(initial=1.0, step=0.0)
    assert counts(tokens, [50, 90, 10, 60]) == [10] * 4
    assert held(tokens) == {3: ALL, 5: ALL}


def test_hill_climbing() -> None:
    """The released simulator: better, 10 % fewer; else 10 % more; it never turns round."""
    tokens = climbing()

    def after(misses: int, cycle: int) -> int:
        lookups(tokens, misses, 20)
        epoch = tokens.advance(cycle)
        assert epoch is not None
        assert epoch.end == cycle
        return epoch.tokens

    assert after(10, 7) == 5
    assert after(8, 9) == 4  # better: fewer
    assert after(9, 11) == 5  # worse: more
    assert after(10, 12) == 6  # worse again: more
    assert after(6, 13) == 5  # better: fewer
    assert after(6, 99) == 6  # no better: more
    assert after(3, 100) == 5
    assert held(tokens) == {3: ALL[:4], 5: [4]}  # of the 3 beyond one a SM, 7/8 are SM 3's
    assert after(2, 101) == 4
    assert held(tokens) == {3: ALL, 5: ALL}, "10 % of misses: no warp needs one"
    assert after(4, 102) == 5
    assert held(tokens)[3] != ALL


def test_an_epoch_of_lookups_ends_with_the_last_of_them() -> None:
    tokens = climbing()
    lookups(tokens, 10, 19)
    assert tokens.advance(10**9) is None
    tokens.count_lookup(hit=True)
    assert tokens.advance(10**9) is not None


@given(
    st.dictionaries(st.integers(0, 7), st.sets(st.integers(0, 63), min_size=1), min_size=1),
    st.floats(0, 1),
)
def test_all_tokens_are_dealt_out(seen: dict[int, set[int]], initial: float) -> None:
    tokens = with_warps(PaperTokens(initial, 0.1, EPOCH, band=0.02), dict(seen))
    tokens.count_lookup(hit=False)
    epoch = tokens.advance(EPOCH)
    assert epoch is not None
    assert len(seen) <= epoch.tokens <= epoch.warps == sum(map(len, seen.values()))
    own = {
        sm: [slot for slot in sorted(slots) if tokens.held_by(sm, slot)]
        for sm, slots in seen.items()
    }
    assert sum(map(len, own.values())) == epoch.tokens
    for sm, slots in seen.items():
        assert own[sm] == sorted(slots)[: len(own[sm])] != []
        exact = 1 + (epoch.tokens - len(seen)) * (len(slots) - 1) / max(epoch.warps - len(seen), 1)
        assert len(own[sm]) == pytest.approx(exact, abs=1.001)


def test_the_order_in_which_sms_come_is_of_no_effect() -> None:
    tokens = with_warps(PaperTokens(0.4, 0.1, EPOCH, band=0.02), dict.fromkeys((5, 3), range(4)))
    tokens.count_lookup(hit=False)
    epoch = tokens.advance(EPOCH)
    assert epoch is not None
    assert epoch.tokens == 3  # half a token beyond the first goes to either: to the lower number
    assert held(tokens) == {3: [0, 1], 5: [0]}
