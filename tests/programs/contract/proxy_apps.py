"""LULESH and GUPS: what they compute, and what their warps do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpusim.programs.device import AddressSpace
from gpusim.programs.program_function import FunctionProgram
from gpusim.programs.proxy_apps.gups import next_numbers
from gpusim.programs.proxy_apps.lulesh import BLAST, place, time_steps
from gpusim.programs.writing import Launches
from tests.programs.contract.entries import (
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
    store,
)
from tests.programs.drain import drain

IN_STEP: dict[str, dict[str, object]] = {
    "gups": {"threads": 512, "updates": 5},
    "lulesh": {"edge": 16},
}

# -- gups ------------------------------------------------------------------------------------------


def numbers_of(start: int, count: int) -> list[int]:
    """The benchmark's definition, with Python's whole numbers."""
    found = []
    for _ in range(count):
        start = ((start << 1) & (2**64 - 1)) ^ (7 if start >> 63 else 0)
        found.append(start)
    return found


def random_numbers() -> None:
    number = np.array([1, 2**63, 2**64 - 1], dtype=np.uint64)
    expected = [numbers_of(int(one), 3) for one in number]
    found = []
    for _ in range(3):
        number = next_numbers(number)
        found.append(number.tolist())
    assert [list(one) for one in zip(*found, strict=True)] == expected


def updated(before: Arrays, updates: int) -> dict[str, Any]:
    expected = list(range(before["table"].size))
    for start in before["stream"].tolist():
        for number in numbers_of(start, updates):
            expected[number % len(expected)] ^= number
    return {"table": np.array(expected, dtype=np.uint64)}


def gups(log2_words: int, threads: int, updates: int | None) -> Run:
    every = updates or 4 * (1 << log2_words) // threads  # four a word if nothing else is asked for
    return Run(
        "gups",
        {"log2_words": log2_words, "threads": threads, "updates": updates},
        seed=4,
        launches=["update"],
        arrays=["table", "stream"],
        results=lambda before: updated(before, every),
    )


def a_page_a_lane(operations: list[Operation]) -> None:
    start = [("COMPUTE", 8), ("LOAD", "stream"), ("WAIT", 0)]
    assert [op[:2] for op in operations] == [*start, *(("COMPUTE", 12), ("REDUCE", "table")) * 2]
    for _, _, lanes in operations[4::2]:
        assert len({8 * lane // 4096 for lane in lanes}) >= 30


# -- lulesh ----------------------------------------------------------------------------------------

STEP = [
    f"{name}_kernel"
    for name in (
        "InitStressTermsForElems",
        "IntegrateStressForElems",
        "AddNodeForcesFromElems",
        "CalcHourglassControlForElems",
        "CalcFBHourglassForceForElems",
        "AddNodeForcesFromElems2",
        "CalcAccelerationForNodes",
        "ApplyAccelerationBoundaryConditionsForNodes",
        "CalcVelocityForNodes",
        "CalcPositionForNodes",
        "CalcKinematicsForElems",
        "CalcLagrangeElementsPart2",
        "CalcMonotonicQGradientsForElems",
        "CalcMonotonicQRegionForElems",
        "ApplyMaterialPropertiesForElemsPart1",
        "EvalEOSForElemsPart1",
        "CalcEnergyForElemsPart1",
        "CalcPressureForElems",
        "CalcEnergyForElemsPart2",
        "CalcPressureForElems",
        "CalcEnergyForElemsPart3",
        "CalcPressureForElems",
        "CalcEnergyForElemsPart4",
        "EvalEOSForElemsPart2",
        "CalcSoundSpeedForElems",
        "UpdateVolumesForElems",
        "CalcCourantConstraintForElems",
        "CalcHydroConstraintForElems",
    )
]


def scaled(edge: int, steps: int) -> FunctionProgram:
    """With the energy and the first time step that LULESH 2.0 uses for this size."""

    def launches(memory: AddressSpace) -> Launches:
        domain = place(memory, edge)
        energy = BLAST * (edge / 45) ** 3
        domain.reals["e"].data[0] = energy
        first = np.cbrt(domain.reals["volo"].data[0]) / np.sqrt(2 * energy) / 2
        yield from time_steps(domain, steps, float(first))

    return FunctionProgram("scaled lulesh", launches, ())


def the_published_result_of_size_5() -> None:
    program = scaled(5, 1000)
    assert drain(program) == STEP * 72, "iterations"
    energy = program.memory["e"].data
    assert energy[0] == pytest.approx(7.853665e3, rel=1e-6), "the final origin energy"
    cube = energy.reshape(5, 5, 5)
    for axes in ((0, 2, 1), (1, 0, 2), (2, 1, 0)):
        assert cube.transpose(axes) == pytest.approx(cube, rel=1e-9), "symmetric in x, y, z"


def total_energy(memory: AddressSpace) -> float:
    """Internal and kinetic energy of all elements and nodes."""
    reals = {array.name: array.data for array in memory.arrays}
    speed = reals["xd"] ** 2 + reals["yd"] ** 2 + reals["zd"] ** 2
    internal = float((reals["e"] * reals["volo"]).sum())
    return internal + float((speed * reals["nodalMass"]).sum() / 2)


def energy_is_kept_but_for_the_hourglass_force() -> None:
    program = scaled(4, 10)
    before = total_energy(program.memory)
    drain(program)
    assert 0.9 * before < total_energy(program.memory) < before


def nodes_of(edge: int, element: int) -> list[int]:
    """Nodes at the corners of an element."""
    z, y, x = np.unravel_index(element, (edge, edge, edge))
    side = edge + 1
    base = int(x + side * (y + side * z))
    low = [base, base + 1, base + side + 1, base + side]
    return low + [node + side * side for node in low]


def of_size_10(
    launch: int, where: tuple[int, int], needs: tuple[int, int, int], check: Any
) -> Warp:
    """A warp of a cube of 10 x 10 x 10: block and warp; blocks, registers and shared bytes."""
    blocks, registers, shared_bytes = needs
    return Warp(
        "lulesh",
        {"edge": 10, "steps": 1},
        launch=launch,
        block=where[0],
        warp=where[1],
        geometry=(STEP[launch], blocks, 256, registers, shared_bytes),
        operations=check,
    )


def stress_gathers_from_eight_corners() -> list[Operation]:
    elements = [256 + lane for lane in LANES]
    corners = np.array([nodes_of(10, element) for element in elements]).T.tolist()
    places = [[e + 1000 * c for e in elements] for c in range(8)]
    return [
        compute(8),
        *[load("nodelist", there) for there in places],
        WAIT,
        *[load(axis, corner) for corner in corners for axis in "xyz"],
        WAIT,
        compute(400),
        store("determ", elements),
        *[load(f"sig{axis}", elements) for axis in ("xx", "yy", "zz")],
        WAIT,
        compute(24),
        *[store(f"f{axis}_elem", there) for axis in "xyz" for there in places],
    ]


def nodes_gather_the_forces_of_their_corners() -> list[Operation]:
    nodes = list(range(5 * 256 + 32, 11**3))
    incident: dict[int, list[int]] = {node: [] for node in nodes}
    for element in range(1000):
        for corner, node in enumerate(nodes_of(10, element)):
            if node in incident:
                incident[node].append(element + 1000 * corner)
    most = max(len(found) for found in incident.values())
    assert most == 4, "these nodes lie on a face of the cube"
    having = [[n for n in nodes if len(incident[n]) > j] for j in range(4)]
    forces = [
        load(f"f{axis}_elem", [incident[n][j] for n in some])
        for j, some in enumerate(having)
        for axis in "xyz"
    ]
    return [
        compute(8),
        load("nodeElemCount", nodes),
        WAIT,
        *[load("nodeElemCornerList", [n + j * 11**3 for n in s]) for j, s in enumerate(having)],
        WAIT,
        *forces,
        WAIT,
        *[compute(3)] * 4,
        *[store(f"f{axis}", nodes) for axis in "xyz"],
    ]


def one_corner_of_32_elements(operations: list[Operation]) -> None:
    elements = [64 + lane for lane in LANES]
    corner = [element + 6000 for element in elements]
    assert operations[1] == load("nodelist", corner)
    nodes = [nodes_of(10, element)[6] for element in elements]
    assert operations[3:6] == [load(axis, nodes) for axis in "xyz"]
    shared = [op[:2] for op in operations if op[0] in ("SHARED", "BARRIER")]
    assert shared.count(("SHARED", 2)) == 2 + 1 + 1 + 36
    assert shared.count(("BARRIER", 0)) == 7
    names = ["dvdx", "dvdy", "dvdz", "x8n", "y8n", "z8n"]
    assert operations[-11:] == [
        *[store(name, corner) for name in names],
        load("volo", elements),
        load("v", elements),
        WAIT,
        compute(1),
        store("determ", elements),
    ]


def the_last_element_is_repeated(operations: list[Operation]) -> None:
    assert operations[1][2] == [min(992 + lane, 999) for lane in LANES]


def loads_wait_for_stores_that_may_alias(operations: list[Operation]) -> None:
    step = ["LOAD", "LOAD", "WAIT", "COMPUTE", "STORE"]
    assert [op[0] for op in operations] == ["COMPUTE", *step * 3]
    arrays = [op[1] for op in operations if op[0] in ("LOAD", "STORE")]
    assert arrays == [name for axis in "xyz" for name in (f"{axis}d", f"{axis}dd", f"{axis}d")]


def the_equation_of_state_goes_through_the_list(operations: list[Operation]) -> None:
    assert operations[1][:2] == ("LOAD", "matElemlist")
    arrays = [op[1] for op in operations[2:] if op[0] in ("LOAD", "STORE")]
    copied = ["e", "e_old", "delv", "delvc", "p", "p_old", "q", "q_old"]
    halves = ["vnewc", "compression", "vnewc", "delvc", "compHalfStep"]
    assert arrays == [*copied, *halves, "qq", "qq_old", "ql", "ql_old", "work"]


def a_tree_of_minima(operations: list[Operation]) -> None:
    kinds = [op[0] for op in operations]
    assert kinds.count("BARRIER") == 4
    assert kinds.count("SHARED") == 1 + 3 * 8
    assert kinds[-1] == "STORE"


def two_steps_of_the_tree(operations: list[Operation]) -> None:
    assert [op[0] for op in operations].count("SHARED") == 1 + 3 * 2


def constraints_reduce_to_one_time_step_a_block() -> None:
    program = Start("lulesh", {"edge": 10, "steps": 3}).application()
    kernel = nth_launch(program, 2 * 28 + 26)
    for block in range(kernel.blocks):
        list(kernel.run_block(block, 32))
    vdov, ss, length = (program.memory[name].data for name in ("vdov", "ss", "arealg"))
    moving = vdov != 0
    assert 0 < moving.sum() < 1000
    speed = np.sqrt(ss**2 + np.where(vdov < 0, 256 * (length * vdov) ** 2, 0))
    allowed = np.where(moving, length / speed, 1e20)
    expected = [allowed[first : first + 256].min() for first in range(0, 1000, 256)]
    assert program.memory["mindtcourant"].data.tolist() == expected


def reals_are_doubles() -> None:
    program = Start("lulesh", {"edge": 3}).application()
    for chunk in nth_launch(program, 8).run_block(0, 32):
        assert set(chunk.size.tolist()) == {8}


def arrays_in_the_order_of_the_copies_to_the_device() -> None:
    buffers = Start("lulesh").application().buffers
    names = [buffer.name for buffer in buffers]
    assert names[:3] == ["x", "y", "z"]
    connections = ["symmX", "symmY", "symmZ", "nodeElemCount", "nodeElemCornerList", "matElemlist"]
    assert names[12:19] == ["nodalMass", *connections]
    size = {buffer.name: buffer.bytes for buffer in buffers}
    assert (size["x"], size["e"], size["nodelist"]) == (97336 * 8, 91125 * 8, 91125 * 32)
    assert size["fx_elem"] == 91125 * 64


RUNS = [
    gups(16, 512, 20),
    gups(9, 128, None),
    *(
        Run(
            "lulesh",
            {"edge": edge, "steps": steps},
            launches=STEP * steps,
            results=lambda before: {"volo": before["volo"]},
        )
        for edge, steps in ((2, 1), (7, 2))
    ),
]

WARPS = [
    Warp(
        "gups",
        {"updates": 2},
        block=3,
        warp=1,
        geometry=("update", 512, 128, 16, 0),
        operations=a_page_a_lane,
    ),
    of_size_10(1, (1, 0), (4, 63, 0), stress_gathers_from_eight_corners()),
    of_size_10(2, (5, 1), (6, 32, 0), nodes_gather_the_forces_of_their_corners()),
    of_size_10(3, (2, 6), (32, 63, 4096), one_corner_of_32_elements),
    of_size_10(3, (31, 0), (32, 63, 4096), the_last_element_is_repeated),
    of_size_10(8, (0, 0), (6, 24, 0), loads_wait_for_stores_that_may_alias),
    of_size_10(15, (1, 0), (4, 24, 0), the_equation_of_state_goes_through_the_list),
    of_size_10(26, (0, 0), (4, 20, 2048), a_tree_of_minima),
    of_size_10(26, (0, 1), (4, 20, 2048), two_steps_of_the_tree),
]

REFUSED = [Refused("gups", {"threads": 300}, message="multiple of 128")]

CHECKS = [
    random_numbers,
    energy_is_kept_but_for_the_hourglass_force,
    constraints_reduce_to_one_time_step_a_block,
    reals_are_doubles,
    arrays_in_the_order_of_the_copies_to_the_device,
]

LONG_CHECKS = [the_published_result_of_size_5]
