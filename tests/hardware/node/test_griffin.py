"""Griffin's placement and its classes of pages, against models that count everything anew."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.core.errors import OptionError
from gpusim.core.policy import PolicyConfig
from gpusim.core.registry import Slot, make_policy
from gpusim.core.structures import Dimensions
from gpusim.hardware.node import ClassifiedPages, PagePlacement

GPUS, EPOCH = 3, 100
OPTIONS = {"epoch": EPOCH, "busy": 4, "dedicated": 0.75}


def _placement(slack: int) -> PagePlacement:
    config = PolicyConfig("delayed-first-touch", {"slack": slack})
    made: PagePlacement = make_policy(Slot.PAGE_PLACEMENT, config, GPUS, 4096)
    return made


def _pages(**options: float) -> ClassifiedPages:
    config = PolicyConfig("griffin", {**OPTIONS, **options})
    made: ClassifiedPages = make_policy(Slot.REMOTE_PAGES, config, GPUS, 4096)
    return made


def test_a_gpu_that_has_its_share_gets_no_page_on_its_first_touch() -> None:
    # By hand, slack 1, GPU 0 alone: it may have as many as the mean and one more.  Of five pages it
    # has two, and the mean is 1 then, and 4/3; others go where there are fewest, round from GPU 0.
    one = _placement(1)
    assert [one.place(0, page, 0) for page in range(5)] == [0, 0, 1, 0, 2]
    assert one.by_touch


@given(st.lists(st.integers(0, GPUS - 1), max_size=60), st.integers(0, 3))
def test_it_is_a_count_of_all_pages_before(touches: list[int], slack: int) -> None:
    placement, placed = _placement(slack), list[int]()
    for page, gpu in enumerate(touches):
        have = [placed.count(one) for one in range(GPUS)]
        right = gpu
        if have[gpu] > len(placed) / GPUS + slack:
            distances = sorted((have[one], (one - gpu) % GPUS, one) for one in range(GPUS))
            right = distances[0][2]
        assert placement.place(0, page, gpu) == right
        placed.append(right)


def _filtered(past: list[tuple[int, int]], since: int, now: int) -> list[float]:
    """Filtered counts of a page, epoch by epoch, from all its accesses since it moved last."""
    counts = [0.0] * GPUS
    own = [(gpu, when) for gpu, when in past[since:] if when // EPOCH < now // EPOCH]
    for epoch in range(min((when // EPOCH for _, when in own), default=0), now // EPOCH):
        for gpu in range(GPUS):
            of_epoch = sum(one == gpu and when // EPOCH == epoch for one, when in own)
            counts[gpu] = 0.5 * of_epoch + 0.5 * counts[gpu]
    return counts


@given(st.lists(st.tuples(st.integers(0, GPUS - 1), st.sampled_from([0, 5, 60, 250])), max_size=60))
def test_a_page_moves_as_all_its_accesses_say(steps: list[tuple[int, int]]) -> None:
    policy, past, since, now, owner = _pages(), list[tuple[int, int]](), 0, 0, 0
    for gpu, later in steps:
        now += later
        past.append((gpu, now))
        counts = _filtered(past, since, now)
        total = sum(counts)
        kind = "idle"
        if total >= 4:
            kind = "dedicated" if max(counts) >= 0.75 * total else "shared"
        right = kind == "dedicated" and counts[gpu] == max(counts) and gpu != owner
        assert policy.accessed_at(7, gpu, owner, now) == right
        assert policy.kind(7) == kind
        if right:
            policy.moved(7, gpu)
            owner, since = gpu, len(past)


def test_a_page_that_two_use_is_shared_and_stays() -> None:
    policy = _pages()
    for when in range(0, 90, 3):
        for gpu in (0, 1):
            assert not policy.accessed_at(7, gpu, 0, when)
    assert not policy.accessed_at(7, 1, 0, EPOCH)
    assert policy.kind(7) == "shared"
    assert not policy.fault(7, 1, 0)


def test_what_it_takes_in_bits() -> None:
    stated = _pages().storage(Dimensions(36, 20, 1, 1, 4), 10)
    assert sum(one.bits for one in stated) == 10 * GPUS * 16


@pytest.mark.parametrize("options", [{"epoch": 0}, {"weight": 0.0}, {"dedicated": 0.5}])
def test_options_that_cannot_be(options: dict[str, float]) -> None:
    with pytest.raises(OptionError, match=next(iter(options))):
        _pages(**options)
