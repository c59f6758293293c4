"""Sorting and grouping: what comes out, and which places are asked for."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpusim.programs.analytics.hash_join import EMPTY, hashes
from tests.programs.contract.entries import Arrays, Operation, Refused, Run, Warp

IN_STEP: dict[str, dict[str, object]] = {
    "group_by": {"rows": 300, "groups": 60, "log2_slots": 7},
    "radix_sort": {"keys": 9000},
}


def group_by(rows: int, groups: int, log2_slots: int) -> Run:
    def results(before: Arrays) -> dict[str, Any]:
        keys, values = before["keys"], before["values"]
        expected = sorted(
            (int(values[keys == key].sum()), int((keys == key).sum()))
            for key in before["group_keys"]
        )
        found: dict[str, list[int]] = {}

        def keep(name: str) -> Any:
            def look(array: np.ndarray) -> None:
                found[name] = array.tolist()
                if len(found) == 2:
                    pairs = zip(found["sums"], found["counts"], strict=True)
                    assert sorted(one for one in pairs if one[1]) == [
                        one for one in expected if one[1]
                    ]

            return look

        return {"sums": keep("sums"), "counts": keep("counts")}

    return Run(
        "group_by",
        {"rows": rows, "groups": groups, "log2_slots": log2_slots},
        seed=1,
        launches=["build", "aggregate"],
        arrays=[
            *("group_keys", "group_numbers", "keys", "values"),
            *("table_keys", "table_numbers", "sums", "counts"),
        ],
        results=results,
    )


def radix_sort(keys: int) -> Run:
    return Run(
        "radix_sort",
        {"keys": keys},
        seed=4,
        launches=["histogram", *["onesweep"] * 4],
        arrays=["keys", "other", "counts", "first", "status"],
        results=lambda before: {
            "keys": np.sort(before["keys"]),
            "counts": np.concatenate(
                [
                    np.bincount(before["keys"] >> shift & 255, minlength=256)
                    for shift in (0, 8, 16, 24)
                ]
            ),
        },
    )


def keys_go_to_their_places(found: list[Operation], before: Arrays, after: Arrays) -> None:
    """The second tile's fourth warp in the first pass: 16 times 32 keys, by their lowest digit."""
    keys = before["keys"] & 255
    place = np.empty(len(keys), dtype=np.int64)
    place[np.argsort(keys, kind="stable")] = np.arange(len(keys))
    tiles = [list(range(first, first + 32)) for first in range(4096 + 96, 8192, 256)]
    loads = [one for one in found if one[:2] == ("LOAD", "keys")]
    stores = [one for one in found if one[:2] == ("STORE", "other")]
    assert [lanes for _, _, lanes in loads] == tiles
    assert [lanes for _, _, lanes in stores] == [place[tile].tolist() for tile in tiles]
    status = [(name, lanes[0]) for name, array, lanes in found if array == "status"]
    assert status == [("STORE", 256 + 96), ("LOAD", 96), ("STORE", 256 + 96)]


def slots_until_the_key(found: list[Operation], before: Arrays, after: Arrays) -> None:
    """Rows 160 to 191."""
    wanted = before["keys"][160:192]
    slots = hashes(wanted, 7)
    searching = np.ones(32, dtype=bool)
    for lanes in [lanes for _, name, lanes in found if name == "table_keys"]:
        assert lanes == slots[searching].tolist()
        assert (after["table_keys"][lanes] != EMPTY).all()
        searching &= after["table_keys"][slots] != wanted
        slots = slots + searching
    assert not searching.any()
    reduced = [(name, lanes) for kind, name, lanes in found if kind == "REDUCE"]
    assert reduced == [("sums", slots.tolist()), ("counts", slots.tolist())]


RUNS = [group_by(700, 90, 8), group_by(40, 300, 9), radix_sort(9000), radix_sort(4096)]

WARPS = [
    Warp(
        "radix_sort",
        {"keys": 9000},
        launch=1,
        block=1,
        warp=3,
        geometry=("onesweep", 3, 256, 64, 4 * 4096 + 8 * 256),
        check=keys_go_to_their_places,
    ),
    Warp(
        "group_by",
        {"rows": 300, "groups": 60, "log2_slots": 7},
        launch=1,
        block=1,
        warp=1,
        geometry=("aggregate", 3, 128, 24, 0),
        check=slots_until_the_key,
    ),
]

REFUSED = [
    Refused("group_by", {"groups": 2000, "log2_slots": 10}, message="'log2_slots' must be"),
    Refused("radix_sort", {"keys": 0}, message="'keys' must be"),
]
