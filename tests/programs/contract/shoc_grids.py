"""SHOC's fft and stencil2d: what they compute, and what their warps do."""

from __future__ import annotations

import numpy as np
import scipy.ndimage

from gpusim.programs.shoc.fft import grid_of
from gpusim.programs.shoc.stencil2d import pitch_of
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
    operations_of,
    shared,
    store,
)

IN_STEP: dict[str, dict[str, object]] = {"fft": {}, "stencil2d": {}}

# -- fft -------------------------------------------------------------------------------------------

FFT = ["FFT512_device", "IFFT512_device", "chk512_device"]


def forward_and_backward() -> None:
    start = Start("fft", {"transforms": 6, "passes": 1}, seed=3)
    program = start.application()
    work = program.memory["work"]
    before = work.data.reshape(6, 512).copy()
    assert (before[:3] == before[3:]).all()
    assert np.abs(before.imag).max() > 0.9
    launches = program.launches()
    for expected, least in ((np.fft.fft(before.astype(complex)), 1e-4), (before, 1e-6)):
        launch = next(launches)
        for block in range(6):
            list(launch.run_block(block, 32))
        assert np.abs(work.data.reshape(6, 512) - expected).max() < least


def the_comparison_finds_what_differs() -> None:
    program = Start("fft", {"transforms": 4, "passes": 2}).application()
    check = nth_launch(program, 2)
    program.memory["work"].data[512 + 64 * 3 + 40] += 1
    assert not any(op[0] == "STORE" for op in operations_of(check, program, block=0))
    assert operations_of(check, program, block=1)[-1] == compute(16)
    assert operations_of(check, program, block=1, warp=1)[-1] == store("chk", [0])
    assert program.memory["chk"].data.tolist() == [1]


def transform(launch: int, last: int) -> Warp:
    """A transform loads a page and stores it back."""
    places = [[512 * 3 + 64 * m + 32 + lane for lane in LANES] for m in range(8)]
    writes, reads, work = [shared()] * 8, [shared(2)] * 8, compute(72 + 849)
    first = [*writes, BARRIER, *reads, BARRIER, *writes, BARRIER, *reads, BARRIER]
    second = [*writes, BARRIER, *writes, BARRIER, *writes, BARRIER, *writes]
    loads, stores = ([op("work", place) for place in places] for op in (load, store))
    start, end = [compute(32), *loads, compute(3), WAIT], [compute(last), *stores, compute(47)]
    return Warp(
        "fft",
        {"transforms": 8, "passes": 1},
        launch=launch,
        block=3,
        warp=1,
        geometry=(FFT[launch], 8, 64, 32, 2304),
        operations=[*start, work, *first, work, *second, *end],
    )


def a_transform_has_one_page() -> None:
    start = Start("fft", {"transforms": 8})
    (chunk,) = next(start.application().launches()).run_block(3, 32)
    assert set(chunk.size.tolist()) == {8}
    assert len(np.unique(chunk.address // 4096)) == 1


def both_halves(operations: list[Operation]) -> None:
    loads = [op[2][0] for op in operations if op[0] == "LOAD"]
    first = [512 * 2 + 64 * m for m in range(8)]
    assert loads == first + [2048 + place for place in first]


def many_transforms_need_rows_of_blocks() -> None:
    assert grid_of(65535).grid == (65535, 1, 1)
    assert grid_of(262144).grid == (32768, 8, 1)


# -- stencil2d -------------------------------------------------------------------------------------

WEIGHTS = np.array([[0.05, 0.15, 0.05], [0.15, 0.25, 0.15], [0.05, 0.15, 0.05]])


def smoothed(iterations: int, columns: int = 512, pitch: int | None = None) -> Run:
    width = pitch or pitch_of(columns)

    def results(before: Arrays) -> Arrays:
        expected = before["da"].reshape(34, width)[1:-1, 1 : columns + 1].astype(float)
        assert expected.max() > 0.9
        for _ in range(iterations):
            expected = scipy.ndimage.correlate(expected, WEIGHTS, mode="constant")
        whole = np.zeros((34, width))  # the border stays
        whole[1:-1, 1 : columns + 1] = expected
        return {"db" if iterations % 2 else "da": whole.ravel()}

    return Run(
        "stencil2d",
        {"rows": 32, "columns": columns, "iterations": iterations, "pitch": pitch},
        seed=4,
        launches=["StencilKernel"] * iterations,
        arrays=dict.fromkeys(("da", "db"), 4 * 34 * width),
        results=results,
        rel=1e-4,
    )


def strip(warp: int, edge: int, column: int) -> Warp:
    """The second launch: a thread's column of 18 rows, and a border beside the strip."""

    def rows(first: int, count: int, column: int) -> list[int]:
        return [528 * (48 + first + r) + 320 + column + 1 for r in range(count)]

    def lanes(place: int) -> list[int]:
        return [place + lane for lane in LANES]

    def loaded(places: list[list[int]], instructions: int) -> list[Operation]:
        rest = [WAIT, shared(), compute(instructions)]
        return [operation for place in places for operation in (load("db", place), *rest)]

    own = [lanes(place) for place in rows(0, 18, edge)]
    stores = [store("da", lanes(place)) for place in rows(1, 16, edge)]
    smooth = [[*[shared()] * 3, compute(10), result] for result in stores]
    return Warp(
        "stencil2d",
        {"rows": 64, "columns": 512, "iterations": 2},
        launch=1,
        block=3 + 4 * 5,
        warp=warp,
        geometry=("StencilKernel", 4 * 8, 64, 32, 4 * 18 * 66),
        operations=[
            compute(103),
            *loaded(own, 11),
            *loaded([[place] for place in rows(0, 18, column)], 9),
            BARRIER,
            *[shared()] * 6,
            *[operation for step in smooth for operation in step],
            compute(1),
        ],
    )


def rows_are_padded() -> None:
    assert [pitch_of(columns) for columns in (512, 4096, 14)] == [528, 4112, 16]


RUNS = [
    Run(
        "fft",
        {"transforms": 4, "passes": 2},
        launches=FFT * 2,
        arrays=["work", "chk"],
        results=lambda before: {"chk": [0]},
    ),
    Run(
        "fft",
        {"transforms": 6, "passes": 2, "forward_only": True},
        launches=FFT[:1] * 2,
        results=lambda before: {"chk": [0]},
    ),
    *map(smoothed, (1, 2, 5)),
    smoothed(1, columns=64, pitch=100),  # a part of wider matrices
]

WARPS = [
    transform(0, 72),
    transform(1, 88),
    Warp(
        "fft",
        {"transforms": 8, "passes": 1},
        launch=2,
        block=2,
        geometry=("chk512_device", 4, 64, 40, 0),
        operations=both_halves,
    ),
    strip(0, 0, -1),
    strip(1, 32, 64),
]

REFUSED = [
    Refused("fft", {"transforms": 65538 * 2 + 2}, message="multiple of 4"),
    Refused("fft", {"transforms": 7}, message="multiple of 2"),
    Refused(
        "stencil2d",
        {"rows": 32, "columns": 64, "pitch": 65},
        message=r"must be from 66 \(columns = 64\) to 65536: 65",
    ),
    Refused("stencil2d", {"rows": 24}, message="'rows' must be a multiple of"),
    Refused("stencil2d", {"columns": 300}, message="'columns' must be a multiple of"),
]

CHECKS = [
    forward_and_backward,
    the_comparison_finds_what_differs,
    a_transform_has_one_page,
    many_transforms_need_rows_of_blocks,
    rows_are_padded,
]
