"""ATLAS: attained service against a naive sum, and a scene worked out by hand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpusim.hardware.dram.atlas import AttainedService
from tests.hardware.dram.driving import Driven, completion
from tests.hardware.dram.test_golden_silver_normal import ROW, config, rows

QUANTUM, HISTORY = 100, 0.5

DONE = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 40), st.integers(1, 60)), max_size=40)
"""A request is done: its application, cycles since the last one, cycles of its bank."""


def done(service: AttainedService, app: int, cycles: int) -> None:
    service.request_done(completion(app, 0, 0, cycles))


@given(DONE)
def test_service_is_averaged_over_quanta(requests: list[tuple[int, int, int]]) -> None:
    service, now = AttainedService(3, QUANTUM, HISTORY), 0
    quanta: dict[tuple[int, int], int] = {}
    for app, gap, cycles in requests:
        now += gap
        service.advance(now)
        done(service, app, cycles)
        place = now // QUANTUM, app
        quanta[place] = quanta.get(place, 0) + cycles
    ended = now // QUANTUM
    total = [
        sum(quanta.get((number, app), 0) * HISTORY ** (ended - number) for number in range(ended))
        for app in range(3)
    ]
    assert service.total == total
    order = sorted(range(3), key=lambda app: (total[app], app))
    assert [service.places[app] for app in order] == [0, 1, 2]
    assert service.version == ended


def test_who_was_served_least_goes_first() -> None:
    """Rows of one bank: application 0 is served alone in the first quantum, then 1 comes."""
    first = rows(3)
    later = [(500, ROW * n, False) for n in range(10, 14)]
    apps = [0, 0, 0, 0, 0, 0, 1]
    fcfs = Driven(config("fr-fcfs"), first + later, apps=apps).answered
    atlas = Driven(config("atlas", quantum=400), first + later, apps=apps).answered
    assert sorted(range(3, 7), key=fcfs.__getitem__) == [3, 4, 5, 6]
    assert sorted(range(3, 7), key=atlas.__getitem__) == [6, 3, 4, 5]
