"""TCM: clusters and shuffled ranks against naive ones, and scenes made by hand."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.hardware.dram.clusters import Clusters
from tests.examples import examples
from tests.hardware.dram.driving import completion

QUANTUM, SHUFFLE, SHARE, APPS = 1000, 100, 0.25, 4

EVENTS = st.lists(
    st.tuples(
        st.integers(0, APPS - 1),
        st.integers(0, 2),
        st.integers(0, 2),
        st.integers(1, 50),
        st.integers(0, 3),
    ),
    max_size=60,
)
"""A read comes and others go: application, bank, row, cycles of its bank, reads of it that wait."""


def served(clusters: Clusters, app: int, bank: int, row: int, cycles: int) -> None:
    clusters.request_done(completion(app, bank, row, cycles))


def ranks(clusters: Clusters) -> list[int]:
    """Applications, the first one first."""
    return sorted(range(len(clusters.places)), key=clusters.places.__getitem__)


def insertion_shuffle(nice: list[int], steps: int) -> list[int]:
    """After the paper's Algorithm 2: `nice` is sorted by niceness, the last one is first."""
    count = len(nice)
    if count < 2:
        return nice
    order = list(nice)
    for step in range(steps):
        phase = step % (2 * count)
        low, high = (count - 1 - phase, count) if phase < count else (0, phase - count + 1)
        part = sorted(order[low:high], key=nice.index, reverse=phase < count)
        order = order[:low] + part + order[high:]
    return order[::-1]


@settings(max_examples=examples(150), deadline=None)
@given(EVENTS, st.integers(0, 9))
def test_clusters_and_ranks_are_those_of_a_naive_one(
    events: list[tuple[int, int, int, int, int]], steps: int
) -> None:
    clusters = Clusters(APPS, QUANTUM, SHUFFLE, SHARE)
    asked, hits, service, banks, reads = ([0] * APPS for _ in range(5))
    rows: dict[tuple[int, int], int] = {}
    waiting: list[tuple[int, int]] = []
    for app, bank, row, cycles, leave in events:
        clusters.came(app, 1, bank)
        waiting.append((app, bank))
        reads[app] += 1
        banks[app] += len({there for who, there in waiting if who == app})
        for gone in waiting[:leave]:
            clusters.left(gone[0], 1, gone[1])
        del waiting[:leave]
        served(clusters, app, bank, row, cycles)
        asked[app] += 1
        hits[app] += rows.get((app, bank)) == row
        rows[app, bank] = row
        service[app] += cycles
    clusters.advance(QUANTUM + SHUFFLE * steps)

    order = sorted(range(APPS), key=lambda app: (asked[app], app))
    latency: list[int] = []
    for app in order:
        if sum(service[one] for one in [*latency, app]) > SHARE * sum(service):
            break
        latency.append(app)
    others = order[len(latency) :]
    by_banks = sorted(others, key=lambda app: banks[app] / max(reads[app], 1))
    by_rows = sorted(others, key=lambda app: hits[app] / max(asked[app], 1))
    nice = sorted(others, key=lambda app: (by_banks.index(app) - by_rows.index(app), app))
    assert ranks(clusters) == latency + insertion_shuffle(nice, steps)


def test_each_of_the_others_is_first_for_some_time() -> None:
    clusters = Clusters(3, QUANTUM, SHUFFLE, SHARE)
    for app in range(3):
        served(clusters, app, 0, 0, 50)
    first = []
    for step in range(6):
        clusters.advance(QUANTUM + SHUFFLE * step)
        first.append(ranks(clusters)[0])
    assert set(first) == {0, 1, 2}
    clusters.advance(QUANTUM + SHUFFLE * 6)
    assert ranks(clusters) == [2, 1, 0]  # the shuffle begins anew: the nicest is first


def test_who_asks_for_little_goes_first() -> None:
    clusters = Clusters(3, QUANTUM, SHUFFLE, SHARE)
    for app, times in enumerate((40, 1, 30)):
        for _ in range(times):
            served(clusters, app, 0, 0, 10)
    for step in range(9):
        clusters.advance(QUANTUM + SHUFFLE * step)
        assert ranks(clusters)[0] == 1
