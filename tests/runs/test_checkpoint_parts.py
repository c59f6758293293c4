"""What a checkpoint is made of: the last accesses, and what launches change."""

import numpy as np
import pytest
from numpy.typing import NDArray

from gpusim.core.errors import UserError
from gpusim.hardware.sm.untimed.accesses import KIND_BITS
from gpusim.runs.checkpoint import access_log
from gpusim.runs.checkpoint.access_log import AccessLog
from gpusim.runs.checkpoint.changes import Changes, changes, copy_of

Access = tuple[int, int, int, int, int]
"""SM, block slot, line, sectors, kind."""


def in_piece(rows: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Of lines, sectors and kinds the last one of each line and kind, with the sectors of all."""
    last: dict[tuple[int, int], int] = {}
    for line, sectors, kind in rows:
        last[line, kind] = last.pop((line, kind), 0) | sectors
    return [(line, sectors, kind) for (line, kind), sectors in last.items()]


def touches(rows: list[tuple[int, int, int]]) -> NDArray[np.int64]:
    names = [line << KIND_BITS | kind for line, _, kind in rows]
    return np.array([names, [sectors for _, sectors, _ in rows]], dtype=np.int64)


def naive(accesses: list[Access]) -> list[Access]:
    """The last one of each kind to each line from each SM, with the sectors of all."""
    last: dict[tuple[int, int, int], Access] = {}
    for home, slot, line, sectors, kind in accesses:
        before = last.pop((home, line, kind), (0, 0, 0, 0, 0))
        last[home, line, kind] = (home, slot, line, sectors | before[3], kind)
    return list(last.values())


@pytest.mark.parametrize("keep", [0, 1, 700, None])
def test_the_log_keeps_the_last_accesses_in_full_and_sums_up_the_others(
    keep: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access_log, "_CHUNK", 100)
    rng = np.random.default_rng(1)
    log, made, counts = AccessLog(keep, 128), [], []
    for home in rng.integers(0, 3, 300).tolist():
        slot, count = int(rng.integers(0, 4)), int(rng.integers(0, 9))
        columns = [rng.integers(0, most, count).tolist() for most in (50, 256, 4)]
        columns[0] = [line + (line % 2 << 50) for line in columns[0]]  # addresses of 57 bits
        rows = list(zip(*columns, strict=True))
        log.add(home, slot, touches(rows))
        made += [(home, slot, *row) for row in in_piece(rows)]
        counts.append(len(in_piece(rows)))
    assert log.take()[0] == counts
    last, whole = log.finish()
    first = 0 if keep is None else len(made) - keep
    rows = zip(whole.lines, whole.sectors, whole.kinds, strict=True)
    assert list(rows) == [row[2:] for row in made[first:]]
    columns = [last.homes, last.slots, last.lines, last.sectors, last.kinds]
    assert list(zip(*columns, strict=True)) == naive(made[:first])


@pytest.mark.parametrize("keep", [0, 3, None])
def test_nothing_is_left_of_accesses_to_pages_that_are_unmapped_afterwards(
    keep: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access_log, "_CHUNK", 4)
    log, rows = AccessLog(keep, 128), [(line, 1, 0) for line in (0, 32, 64, 96)]
    log.add(0, 0, touches(rows))
    log.add(0, 0, touches(rows[:2]))
    log.forget(1, 3)  # lines 32 to 95
    log.add(1, 0, touches([(32, 2, 1), (0, 4, 1)]))
    last, whole = log.finish()
    assert len(whole) == (keep if keep is not None else 8)
    assert list(zip(last.lines.tolist(), last.kinds.tolist(), strict=True)) == {
        0: [(96, 0), (0, 0), (32, 1), (0, 1)], 3: [(96, 0), (0, 0)], None: []
    }[keep]  # fmt: skip


def test_no_more_lines_are_kept_than_the_largest_machine_can_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(access_log, "MOST_LAST", 10)
    log = AccessLog(0, 128)
    log.add(0, 0, touches([(line, 15, 0) for line in range(40)]))
    assert log.finish()[0].lines.tolist() == list(range(30, 40))


def test_pages_are_told_once_in_the_order_in_which_they_are_used_first() -> None:
    log = AccessLog(0, 128)
    log.add(0, 0, touches([(line, 1, 0) for line in (320, 0, 321, 33)]))
    log.add(0, 0, touches([]))
    log.add(1, 0, touches([(line, 1, 0) for line in (0, 96, 320)]))
    counts, pages, homes = log.take()
    assert (counts, pages.tolist()) == ([4, 0, 3], [10, 0, 1, 3])
    assert homes.tolist() == [0, 0, 0, 1]
    log.add(0, 0, touches([(1, 1, 0), (64, 1, 0)]))
    assert log.take()[1].tolist() == [2]


def test_changes_are_found_bit_for_bit_and_made_again() -> None:
    before = [
        np.array([np.nan, -0.0, 1.0, *range(60)]),
        np.zeros(3, dtype=bool),
        np.arange(5, dtype=np.complex128),
        np.arange(9, dtype=np.int32),
    ]
    before[3].flags.writeable = False
    kept, after = copy_of(before), [array.copy() for array in before]
    after[0][[1, 3, 40]] = 0.0, np.nan, 7.0
    after[1][2] = True
    after[2][4] = 1j
    found = changes(kept, after)
    assert found.starts.tolist() == [1, 40, 2, 4]
    fresh = [array.copy() for array in before]
    found.apply(fresh, "file")
    for one, other in zip(fresh, after, strict=True):
        assert one.tobytes() == other.tobytes()


def test_changes_of_another_program_are_refused() -> None:
    def of(array: int, start: int, count: int, values: int) -> Changes:
        table = [np.array([number]) for number in (array, start, count)]
        return Changes(*table, np.zeros(values, dtype=np.uint8))

    constant = np.zeros(4)
    constant.flags.writeable = False
    for found, why in (
        (of(2, 0, 1, 8), "changes array 2, which the program does not have"),
        (of(1, 0, 1, 8), "changes array 1, which"),
        (of(-1, 0, 1, 8), "changes array -1"),
        (of(0, 3, 2, 16), "elements that array 0 does not have"),
        (of(0, -1, 2, 16), "elements that array 0"),
        (of(0, 1 << 61, 1 << 61, 16), "elements that array 0"),
        (of(0, 1, 2, 15), "values of array 0 are missing"),
        (of(0, 1, 2, 17), "more values than changes"),
    ):
        with pytest.raises(UserError, match=why):
            found.apply([np.zeros(4), constant], "file")


def test_arrays_of_objects_cannot_be_kept() -> None:
    with pytest.raises(UserError, match="an array of Python's objects"):
        copy_of([np.array([None])])
