"""SHOC's reduction, scan and triad: what they compute, and what their warps do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.programs.contract.entries import (
    BARRIER,
    LANES,
    WAIT,
    Arrays,
    Operation,
    Refused,
    Run,
    Start,
    Warp,
    compute,
    load,
    nth_launch,
    shared,
    store,
)

IN_STEP: dict[str, dict[str, object]] = {
    "reduction": {"elements": 51200},
    "scan": {"elements": 65684},
    "triad": {},
}

# -- reduction -------------------------------------------------------------------------------------


def put(array: np.ndarray, values: np.ndarray) -> None:
    """Into an array that programs only read."""
    if array.base is not None:
        array.base.flags.writeable = True
    array.flags.writeable = True
    array[:] = values


def random_values(arrays: Arrays) -> None:
    put(arrays["in"], np.random.default_rng(0).random(arrays["in"].size))


def sums_of_the_blocks(before: Arrays) -> Arrays:
    padded = np.zeros(-(-before["in"].size // 32768) * 32768)
    padded[: before["in"].size] = before["in"]
    return {"out": padded.reshape(-1, 64, 512).sum(axis=(0, 2))}


def sum_of_the_suite(before: Arrays) -> dict[str, Any]:
    def check(out: np.ndarray) -> None:
        assert out.sum() == sum(i % 3 for i in range(51200))

    return {"out": check}


def summed(block: int, warp: int, check: Any) -> Warp:
    return Warp(
        "reduction",
        {"elements": 512 * 66, "iterations": 1},
        block=block,
        warp=warp,
        geometry=("reduce", 64, 256, 14, 1024),
        operations=check,
    )


def strides_through_the_vector(operations: list[Operation]) -> None:
    starts = [512 + 96, 512 + 96 + 256, 512 * 65 + 96, 512 * 65 + 96 + 256]
    loads = [op for op in operations if op[0] == "LOAD"]
    assert loads == [load("in", [start + lane for lane in LANES]) for start in starts]
    turn = ["LOAD", "LOAD", "SHARED", "WAIT", "COMPUTE", "SHARED"]
    assert [op[0] for op in operations[:9]] == ["COMPUTE", "SHARED", *turn, "LOAD"]


def idle_beyond_128_threads(operations: list[Operation]) -> None:
    assert operations[-4:] == [shared(), *[BARRIER] * 3]


def one_turn(operations: list[Operation]) -> None:
    assert sum(op[0] == "LOAD" for op in operations) == 2


def the_first_warp_finishes_the_tree(operations: list[Operation]) -> None:
    assert operations[-1] == store("out", [9])
    step = ["SHARED", "SHARED", "COMPUTE", "SHARED"]
    tree = ["BARRIER", *[*step, "BARRIER"] * 2, *step * 6, "SHARED", "STORE"]
    assert [op[0] for op in operations[8:]] == tree


# -- scan ------------------------------------------------------------------------------------------

SCAN = ["reduce", "scan_single_block", "bottom_scan"]


def running_sum(elements: int, values: np.ndarray | None) -> Run:
    """Of the suite's values, or of others."""

    def other_values(arrays: Arrays) -> None:
        if values is not None:
            put(arrays["idata"], values.view(arrays["idata"].dtype))

    def results(before: Arrays) -> dict[str, Any]:
        given = before["idata"].view(np.float32)
        if values is None:
            assert (given == np.arange(elements) % 3).all()

        def check(odata: np.ndarray) -> None:
            assert (odata.view(np.float32) == np.cumsum(given)).all()

        return {"odata": check}

    return Run(
        "scan",
        {"elements": elements, "iterations": 2},
        edit=other_values,
        launches=SCAN * 2,
        arrays=["idata", "odata", "block_sums"],
        results=results,
    )


def scanned(launch: int, size: int, place: tuple[int, int], operations: Any) -> Warp:
    """A warp of a kernel of a scan of 64 regions of `size` elements."""
    registers, shared_bytes = ((31, 1024), (12, 2048), (26, 2052))[launch]
    return Warp(
        "scan",
        {"elements": 64 * size, "iterations": 1},
        launch=launch,
        block=place[0],
        warp=place[1],
        geometry=(SCAN[launch], 1 if launch == 1 else 64, 256, registers, shared_bytes),
        operations=operations,
    )


def four_loads_at_a_time(operations: list[Operation]) -> None:
    starts = [3 * 1280 + 64 + 256 * step for step in range(5)]
    # 16 bytes are an element of the buffer for the last kernel; here they are 4
    loads = [load("idata", [start + lane for lane in LANES]) for start in starts]
    assert operations[1:12] == [*loads[:4], WAIT, compute(5), *[compute(1)] * 4, loads[4]]


def sums_of_regions(operations: list[Operation]) -> None:
    assert operations[:2] == [compute(8), load("block_sums", range(32, 64))]
    assert operations[-1] == store("block_sums", range(32, 64))


def no_sums(operations: list[Operation]) -> None:
    assert all(op[0] not in {"LOAD", "STORE"} for op in operations)


def turns_of_the_last_kernel(operations: list[Operation]) -> None:
    step = ["LOAD", "WAIT", "COMPUTE", "SHARED", "SHARED", "BARRIER"]
    step += ["SHARED", "BARRIER", "SHARED", "COMPUTE", "SHARED", "BARRIER"] * 8
    step += ["SHARED", "SHARED", "COMPUTE", "STORE"]
    assert [op[0] for op in operations] == ["COMPUTE", *step * 2]


def start_value(operations: list[Operation]) -> None:
    assert operations[1] == load("block_sums", [5])


def the_last_kernel_moves_vectors_of_16_bytes() -> None:
    sizes = {"elements": 64 * 2048, "iterations": 1}
    program = Start("scan", sizes).application()
    (chunk,) = nth_launch(program, 2).run_block(5, 32)
    assert chunk.size.tolist() == [4, 16, 16, 16, 16]
    vectors = chunk.address[1:, 2]
    assert (np.diff(vectors, axis=1) == 16).all(), "a warp reads 512 bytes in a row"
    for rows, array in (([0, 2], "idata"), ([1, 3], "odata")):
        first = program.memory[array].base + 16 * (5 * 512 + 64)
        assert vectors[rows, 0].tolist() == [first, first + 4096]


# -- triad -----------------------------------------------------------------------------------------


def every_chunk_is_computed_in_its_set_of_arrays() -> None:
    start = Start("triad", {"elements": 1536, "chunk": 256}, seed=2)
    program = start.application()
    chunks = (10 * np.random.default_rng(2).random(1536, dtype=np.float32)).reshape(6, 256)
    for number, launch in enumerate(program.launches()):
        for block in reversed(range(launch.blocks)):
            list(launch.run_block(block, 32))
        a, b, c = (program.memory[f"{name}{number % 2}"].data for name in "ABC")
        assert (a[:256] == chunks[number]).all()
        assert (b[:256] == chunks[number]).all()
        assert c[:256] == pytest.approx(2.75 * chunks[number])
        assert not c[256:].any()
    assert number == 5


def added() -> list[Operation]:
    mine = list(range(128 * 5 + 64, 128 * 5 + 96))
    start = [compute(13), load("A1", mine), load("B1", mine), WAIT, compute(4)]
    return [*start, store("C1", mine)]


RUNS = [
    *(
        Run(
            "reduction",
            {"elements": elements, "iterations": 2},
            edit=random_values,
            launches=["reduce"] * 2,
            arrays=["in", "out"],
            results=sums_of_the_blocks,
        )
        for elements in (512, 512 * 64, 512 * 150)
    ),
    Run(
        "reduction",
        {"elements": 512 * 100, "iterations": 1},
        launches=["reduce"],
        results=sum_of_the_suite,
    ),
    *(
        running_sum(size, np.random.default_rng(1).integers(0, 9, size).astype(np.float32))
        for size in (256, 300, 64 * 1024, 64 * 1024 + 4 * 77)
    ),
    running_sum(64 * 600, None),
    Run(
        "triad",
        {"elements": 4096, "chunk": 2048},
        launches=["triad"] * 2,
        arrays=dict.fromkeys(("A0", "B0", "C0", "A1", "B1", "C1"), 16384),
        results=lambda before: {},
    ),
]

WARPS = [
    summed(1, 3, strides_through_the_vector),
    summed(1, 5, idle_beyond_128_threads),
    summed(2, 3, one_turn),
    Warp(
        "reduction",
        {"elements": 512 * 64, "iterations": 1},
        block=9,
        operations=the_first_warp_finishes_the_tree,
    ),
    scanned(0, 1280, (3, 2), four_loads_at_a_time),
    scanned(1, 1024, (0, 1), sums_of_regions),
    scanned(1, 1024, (0, 2), no_sums),
    scanned(2, 2048, (5, 2), turns_of_the_last_kernel),
    scanned(2, 2048, (5, 0), start_value),
    Warp(
        "triad",
        {"elements": 4096, "chunk": 2048},
        launch=1,
        block=5,
        warp=2,
        geometry=("triad", 16, 128, 12, 0),
        operations=added(),
    ),
]

REFUSED = [
    Refused("reduction", {"elements": 700}, message="multiple of 512: 700"),
    Refused("scan", {"elements": 1026}, message="multiple of 4: 1026"),
    *(
        Refused("triad", {"elements": 1024, "chunk": chunk}, message=f"multiple of chunk = {chunk}")
        for chunk in (384, 200, 2048)
    ),
]

CHECKS = [the_last_kernel_moves_vectors_of_16_bytes, every_chunk_is_computed_in_its_set_of_arrays]
