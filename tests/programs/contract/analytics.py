"""Joins: which values are found, and which slots are asked for."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpusim.programs.analytics.hash_join import EMPTY, hashes, slots_of
from tests.programs.contract.entries import (
    Arrays,
    Operation,
    Refused,
    Run,
    Warp,
)

IN_STEP: dict[str, dict[str, object]] = {"hash_join": {"build_rows": 300, "log2_slots": 9}}


def joined(before: Arrays) -> dict[str, Any]:
    values = dict(zip(before["build_keys"].tolist(), before["build_values"].tolist(), strict=True))

    def table_is_right(keys: np.ndarray) -> None:
        assert sorted(keys[keys != EMPTY].tolist()) == sorted(values)

    return {
        "found": [values[key] for key in before["probe_keys"].tolist()],
        "table_keys": table_is_right,
    }


def join(build_rows: int, probe_rows: int, log2_slots: int) -> Run:
    return Run(
        "hash_join",
        {"build_rows": build_rows, "probe_rows": probe_rows, "log2_slots": log2_slots},
        seed=3,
        launches=["build", "probe"],
        arrays=[
            *("build_keys", "build_values", "probe_keys"),
            *("table_keys", "table_values", "found"),
        ],
        results=joined,
    )


def between_its_hash_and_its_slot_a_key_finds_others() -> None:
    keys = np.random.default_rng(2).permutation(5000)[:900].astype(np.int32)
    slots = slots_of(keys, 10)
    assert len(set(slots.tolist())) == 900
    taken = set(slots.tolist())
    for begin, slot in zip(hashes(keys, 10).tolist(), slots.tolist(), strict=True):
        assert taken.issuperset(range(begin, slot + 1))
    assert (slots - hashes(keys, 10)).max() > 3


def slot_by_slot(found: list[Operation], before: Arrays, after: Arrays) -> None:
    """Rows 160 to 191 of the larger table."""
    wanted = after["probe_keys"][160:192]
    slots = hashes(wanted, 9)
    searching = list(range(32))
    turns = [lanes for _, name, lanes in found if name == "table_keys"]
    for lanes in turns:
        assert lanes == [int(slots[lane]) for lane in searching]
        searching = [lane for lane in searching if after["table_keys"][slots[lane]] != wanted[lane]]
        slots = slots + 1
    assert not searching
    assert len(turns) > 1


RUNS = [join(300, 700, 9), join(256, 100, 8), join(1, 5, 4)]

WARPS = [
    Warp(
        "hash_join",
        {"build_rows": 480, "probe_rows": 700, "log2_slots": 9},
        launch=1,
        block=1,
        warp=1,
        geometry=("probe", 6, 128, 24, 0),
        check=slot_by_slot,
    ),
]

REFUSED = [
    Refused("hash_join", {"build_rows": 2000, "log2_slots": 10}, message="'log2_slots' must be"),
]

CHECKS = [between_its_hash_and_its_slot_a_key_finds_others]
