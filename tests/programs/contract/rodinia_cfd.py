"""Rodinia's cfd: what it computes, and what its warps do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpusim.programs.rodinia.cfd import far_field
from gpusim.programs.rodinia.tetrahedra import FAR_FIELD, WALL
from tests.programs.contract.entries import (
    LANES,
    WAIT,
    Arrays,
    Operation,
    Run,
    Warp,
    compute,
    load,
    store,
)

IN_STEP: dict[str, dict[str, object]] = {"cfd": {}}


CFD = (
    *("areas", "elements_surrounding_elements", "normals", "variables", "old_variables"),
    *("fluxes", "step_factors"),
)


def flux_of(state: NDArray[Any]) -> NDArray[Any]:
    """(5, 3) the Euler fluxes of a state."""
    density, momentum, energy = state[0], state[1:4], state[4]
    pressure = 0.4 * (energy - momentum @ momentum / density / 2)
    rows = [momentum, *(np.outer(momentum, momentum) / density + pressure * np.eye(3))]
    return np.array([*rows, (energy + pressure) * momentum / density])


def signal(state: NDArray[Any]) -> float:
    """Speed and speed of sound."""
    speed = float(np.linalg.norm(state[1:4])) / state[0]
    return float(speed + np.sqrt(1.4 * 0.4 * (state[4] / state[0] - speed**2 / 2)))


def flow_step(arrays: Arrays, variables: NDArray[Any]) -> NDArray[Any]:
    """One time step, element by element, in double precision."""
    n = variables.shape[1]
    neighbours = arrays["elements_surrounding_elements"].reshape(4, -1)
    normals = arrays["normals"].reshape(3, 4, -1).astype(float)
    old = variables
    factor = [0.5 / np.sqrt(arrays["areas"][e]) / signal(old[:, e]) for e in range(n)]
    for stage in range(3):
        new = old.copy()
        for e in range(n):
            total = np.zeros(5)
            own = variables[:, e]
            for face in range(4):
                other, normal = neighbours[face, e], normals[:, face, e]
                if other == WALL:
                    total[1:4] += normal * 0.4 * (own[4] - own[1:4] @ own[1:4] / own[0] / 2)
                    continue
                beyond = far_field().astype(float) if other == FAR_FIELD else variables[:, other]
                total += 0.5 * (flux_of(beyond) + flux_of(own)) @ normal
                if other >= 0:
                    size = np.linalg.norm(normal) * (signal(own) + signal(beyond))
                    total -= 0.1 * size * (own - beyond)
            new[:, e] += factor[e] / (4 - stage) * total
        variables = new
    return variables


def two_time_steps(before: Arrays) -> Arrays:
    count = before["variables"].size // 5
    expected = np.repeat(far_field().astype(float)[:, None], count, axis=1)
    for _ in range(2):
        expected = flow_step(before, expected)
    assert np.ptp(expected, axis=1).min() > 1e-3, "the body disturbs every variable"
    return {"variables": expected.ravel()}


STAGES = ["cuda_compute_flux", "cuda_time_step"] * 3


def still(arrays: Arrays) -> None:
    arrays["variables"][:] = 0


def far_field_everywhere(operations: list[Operation], before: Arrays, after: Arrays) -> None:
    assert not before["variables"].any()
    assert (after["variables"].reshape(5, -1)[:, LANES] == far_field()[:, None]).all()
    stores = [store("variables", [lane + 384 * j for lane in LANES]) for j in range(5)]
    assert operations == [compute(8), *stores]


def gathering(operations: list[Operation], before: Arrays, after: Arrays) -> None:
    threads, n = [192 + 64 + lane for lane in LANES], 768
    variables = [load("variables", [t + j * n for t in threads]) for j in range(5)]
    assert operations[:8] == [compute(8), *variables, WAIT, compute(60)]
    expected = []
    for face in range(4):
        neighbour = before["elements_surrounding_elements"][[t + face * n for t in threads]]
        inner = neighbour[neighbour >= 0].tolist()
        normals = [load("normals", [t + (face + 4 * a) * n for t in threads]) for a in range(3)]
        others = [load("variables", [e + j * n for e in inner]) for j in range(5)]
        expected += [
            load("elements_surrounding_elements", [t + face * n for t in threads]),
            *(*normals, WAIT, compute(18), *others, WAIT, compute(115)),
            *[compute(6)] * bool((neighbour == WALL).any()),
            *[compute(75)] * bool((neighbour == FAR_FIELD).any()),
        ]
    assert operations[8:-5] == expected
    assert operations[-5:] == [store("fluxes", [t + j * n for t in threads]) for j in range(5)]


def step_factors() -> list[Operation]:
    variables = [load("variables", [lane + 768 * j for lane in LANES]) for j in range(5)]
    area, factor = load("areas", LANES), store("step_factors", LANES)
    return [compute(8), *variables, area, WAIT, compute(40), factor]


def time_step() -> Iterator[Operation]:
    yield from (compute(8), load("step_factors", LANES))
    for j in (0, 4, 1, 2, 3):
        index = [lane + j * 768 for lane in LANES]
        yield from (load("old_variables", index), load("fluxes", index), WAIT)
        yield from (compute(10), store("variables", index))


RUNS = [
    Run(
        "cfd",
        {"elements": 250, "iterations": 2},
        seed=3,
        launches=["cuda_initialize_variables"] * 3 + ["cuda_compute_step_factor", *STAGES] * 2,
        results=two_time_steps,
        rel=0,
        abs=1e-4,
    ),
    Run(
        "cfd",
        {"elements": 700, "iterations": 1},
        seed=3,
        launches=["cuda_initialize_variables"] * 3 + ["cuda_compute_step_factor", *STAGES],
        arrays={
            name: 768 * 4 * words for name, words in zip(CFD, (1, 4, 12, 5, 5, 5, 1), strict=True)
        },
    ),
]
BODY = {"elements": 700}
WARPS = [
    Warp(
        "cfd",
        {"elements": 200},
        edit=still,
        geometry=("cuda_initialize_variables", 2, 192, 8, 0),
        check=far_field_everywhere,
    ),
    Warp(
        "cfd",
        BODY,
        seed=3,
        launch=4,
        block=1,
        warp=2,
        geometry=("cuda_compute_flux", 4, 192, 64, 0),
        check=gathering,
    ),
    Warp(
        "cfd",
        BODY,
        seed=3,
        launch=3,
        geometry=("cuda_compute_step_factor", 4, 192, 18, 0),
        operations=step_factors(),
    ),
    Warp(
        "cfd",
        BODY,
        seed=3,
        launch=5,
        geometry=("cuda_time_step", 4, 192, 16, 0),
        operations=list(time_step()),
    ),
]
