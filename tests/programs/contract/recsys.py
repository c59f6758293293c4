"""Embedding tables: which rows are asked for."""

from __future__ import annotations

import numpy as np

from gpusim.programs.recsys.embedding_bag import CRITEO_BAGS, CRITEO_ROWS
from gpusim.programs.recsys.zipf import zipf_rows
from tests.programs.contract.entries import (
    Operation,
    Refused,
    Run,
    Start,
    Warp,
    nth_launch,
    operations_of,
)

SMALL = {"tables": 3, "rows": 500, "bag": 35, "dim": 64, "batch": 10}

IN_STEP: dict[str, dict[str, object]] = {
    "embedding_bag": {"tables": 12, "shape": "criteo", "rows": 300, "batch": 7},
}


def every_row_of_every_bag_is_loaded_once() -> None:
    start = Start("embedding_bag", {**SMALL, "shape": "criteo", "tables": 22}, seed=4)
    program = start.application()
    launch = nth_launch(program, 0)
    sizes = [min(rows, 500) for rows in CRITEO_ROWS[:22]]
    ends = np.cumsum(np.repeat(CRITEO_BAGS[:22], 10)).tolist()
    indices = program.memory["indices"].data
    assert len(indices) == ends[-1]
    for bag in (0, 3, 97, 15 * 10 + 9, 20 * 10 + 5, 219):
        table, sample = divmod(bag, 10)
        found = operations_of(launch, program, bag // 16, bag % 16)
        first = sum(sizes[:table])
        rows = indices[ends[bag] - CRITEO_BAGS[table] : ends[bag]]
        assert rows.max() < sizes[table]
        loaded = [one[2] for one in found if one[1] == "weights"]
        assert loaded == [
            list(range(16 * (first + row), 16 * (first + row + 1))) for row in rows.tolist()
        ]
        place = 16 * (22 * sample + table)
        assert found[-1] == ("STORE", "output", list(range(place, place + 16)))


def rows_are_as_popular_as_zipf_says() -> None:
    rng = np.random.default_rng(3)
    for exponent in (0.0, 0.8, 1.0, 1.05, 2.0):
        rows = zipf_rows(rng, 200_000, 100, exponent)
        assert 0 <= rows.min() <= rows.max() < 100
        found = -np.sort(-np.bincount(rows, minlength=100)) / 200_000
        ranks = np.arange(1, 101)
        if exponent == 1:
            weights = np.log((ranks + 1) / ranks)
        else:
            power = 1 - exponent
            weights = ((ranks + 1) ** power - ranks**power) / power
        expected = weights / weights.sum()
        first = [0, 4, 19, 49]
        np.testing.assert_allclose(np.cumsum(found)[first], np.cumsum(expected)[first], atol=0.02)
    popular = zipf_rows(rng, 1000, 1 << 20, 1.5)
    assert np.unique(popular // 1024).size > 20, "they are scattered over the table"


def tables_of_the_benchmark() -> None:
    assert len(CRITEO_ROWS) == len(CRITEO_BAGS) == 26
    assert sum(CRITEO_BAGS) == 214
    criteo = {"tables": 26, "shape": "criteo", "rows": 1 << 31, "batch": 1, "number_bytes": 2}
    program = Start("embedding_bag", criteo).application()
    assert program.memory["weights"].bytes == 204_184_588 * 256


def four_rows_at_a_time(found: list[Operation]) -> None:
    """Two pieces of a row of 192 numbers; five rows: four, then one."""
    kinds = [one[0] for one in found if one[:2] == ("LOAD", "weights") or one[0] == "WAIT"]
    assert kinds == ["WAIT", "WAIT", *["LOAD"] * 8, "WAIT", *["LOAD"] * 2, "WAIT"]
    lanes = [len(one[2]) for one in found if one[1] == "weights"]
    assert lanes == [32, 16] * 5


RUNS = [
    Run(
        "embedding_bag",
        SMALL,
        seed=2,
        launches=["embedding_forward"],
        arrays={
            "weights": 3 * 500 * 64 * 4,
            "table_offsets": 3 * 8,
            "bag_offsets": 31 * 8,
            "indices": 3 * 10 * 35 * 8,
            "output": 3 * 10 * 64 * 4,
        },
        results=lambda _: {
            "table_offsets": [0, 500, 1000],
            "bag_offsets": np.arange(31) * 35,
        },
    ),
]

WARPS = [
    Warp(
        "embedding_bag",
        {**SMALL, "bag": 5, "dim": 192},
        block=1,
        warp=2,
        geometry=("embedding_forward", 2, 512, 32, 0),
        operations=four_rows_at_a_time,
    ),
]

REFUSED = [
    Refused("embedding_bag", {"shape": "criteo", "tables": 27}, message="from 1 to 26 of criteo"),
    Refused("embedding_bag", {"dim": 66}, message="'dim' must be a multiple of 4"),
]

CHECKS = [
    every_row_of_every_bag_is_loaded_once,
    rows_are_as_popular_as_zipf_says,
    tables_of_the_benchmark,
]
