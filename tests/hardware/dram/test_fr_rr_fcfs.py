"""FR-FCFS with applications in turn: a scene worked out by hand, and a naive scan."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.hardware.dram.fr_rr_fcfs import FrRrFcfs
from gpusim.hardware.dram.waiting import Waiting
from tests.examples import examples
from tests.hardware.dram.driving import Driven
from tests.hardware.dram.test_against_clocked import streams
from tests.hardware.dram.test_golden_choice import BANKS, waiting
from tests.hardware.dram.test_golden_silver_normal import ALONE, RC, ROW, config, rows


def test_applications_take_turns_at_a_bank() -> None:
    driven = Driven(config("fr-rr-fcfs"), rows(6), apps=[0, 0, 0, 0, 2, 1])
    order = [0, 5, 4, 1, 2, 3]  # app 0, then 1, 2, and 0 again
    assert [driven.answered[n] - 10 for n in range(6)] == [
        ALONE + RC * order.index(n) for n in range(6)
    ]


def test_row_hits_go_first() -> None:
    stream = [(0, 0, False), (1, ROW, False), (1, 64, False), (1, 128, False)]
    driven = Driven(config("fr-rr-fcfs"), stream, apps=[0, 1, 0, 0])
    assert [driven.answered[n] for n in (2, 3)] == [43 + 3, 43 + 6]  # CCDL
    assert driven.answered[1] > 49


STEPS = st.lists(
    st.tuples(st.booleans(), st.integers(0, 3), st.integers(0, 2), st.integers(0, 3)), max_size=60
)


@given(STEPS)
def test_it_chooses_as_a_naive_one(steps: list[tuple[bool, int, int, int]]) -> None:
    queue, naive = FrRrFcfs(8, BANKS), list[Waiting]()
    served = [3] * BANKS
    for number, (adds, bank, row, app) in enumerate(steps):
        of_bank = [one for one in naive if one.bank == bank]
        candidates = [one for one in of_bank if one.row == row]
        for step in range(1, 5):
            turn = (served[bank] + step) % 4
            candidates += [one for one in of_bank if one.request.app == turn]
        best = candidates[0] if candidates else None
        assert queue.best(bank, row) is best
        if adds and len(naive) < 8:
            naive.append(waiting(bank, row, app, 0, 0, number))
            queue.add(naive[-1], 0)
        elif not adds and best is not None:
            queue.remove(best)
            naive.remove(best)
            served[bank] = best.request.app
        assert queue.size == len(naive)


@settings(max_examples=examples(40), deadline=None)
@given(streams())
def test_one_application_has_fr_fcfs(stream: list[tuple[int, int, bool]]) -> None:
    assert Driven(config("fr-rr-fcfs"), stream).heard == Driven(config("fr-fcfs"), stream).heard
