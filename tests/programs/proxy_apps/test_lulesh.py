"""lulesh: its known results, its geometry, and what its warps do."""

import numpy as np
import pytest

from gpusim.programs.proxy_apps import hexahedra
from gpusim.programs.proxy_apps.lulesh import BLAST, Lulesh, LuleshParameters, total_energy
from tests.programs.drain import drain, warp_operations
from tests.programs.graph_inputs import LANES, nth_launch, run, run_backwards, run_forwards


def scaled(edge: int, steps: int = 1000) -> Lulesh:
    """With the energy and the first time step that LULESH 2.0 uses for this size."""
    program = Lulesh(LuleshParameters(edge, steps), 0)
    reals = program.domain.reals
    energy = BLAST * (edge / 45) ** 3
    reals["e"].data[0] = energy
    program.dt = float(np.cbrt(reals["volo"].data[0]) / np.sqrt(2 * energy) / 2)
    return program


def test_the_published_result_of_size_5() -> None:
    program = scaled(5)
    names = drain(program)
    assert names.count("CalcHydroConstraintForElems_kernel") == 72, "iterations"
    assert len(names) == 72 * 28
    energy = program.domain.reals["e"].data
    assert energy[0] == pytest.approx(7.853665e3, rel=1e-6), "the final origin energy"
    cube = energy.reshape(5, 5, 5)
    for axes in ((0, 2, 1), (1, 0, 2), (2, 1, 0)):
        assert cube.transpose(axes) == pytest.approx(cube, rel=1e-9), "symmetric in x, y, z"


def test_energy_is_kept_but_for_the_hourglass_force() -> None:
    program = scaled(4, steps=10)
    before = total_energy(program.domain)
    drain(program)
    assert 0.9 * before < total_energy(program.domain) < before


def distorted() -> np.ndarray:
    """(3, 8, 20) corners of hexahedra near the unit cube."""
    unit = (hexahedra.SIDES.T[:, :, None] + 1) / 2
    return unit + np.random.default_rng(0).uniform(-0.1, 0.1, (3, 8, 20))


def tetrahedra_volume(corners: np.ndarray) -> np.ndarray:
    """Volumes by tetrahedra from the origin to the faces, each cut into four about its middle."""
    total = np.zeros(corners.shape[2])
    for face in hexahedra.FACES:
        middle = corners[:, list(face)].mean(axis=1)
        for one, other in zip(face, (*face[1:], face[0]), strict=True):
            edge = np.stack((middle, corners[:, one], corners[:, other]))
            total -= np.linalg.det(edge.transpose(2, 0, 1)) / 6
    return total


def test_volumes_and_their_derivatives() -> None:
    corners = distorted()
    volumes = hexahedra.volume(corners)
    assert volumes == pytest.approx(tetrahedra_volume(corners))
    around = corners[:, hexahedra.VOLUME_NEIGHBOURS]
    for axis in range(3):
        a, b = around[(axis + 1) % 3], around[(axis + 2) % 3]
        for corner in range(8):
            moved = corners.copy()
            moved[axis, corner] += 1e-6
            slope = (hexahedra.volume(moved) - volumes) / 1e-6
            found = hexahedra.volume_derivative(a[corner], b[corner])
            assert np.abs(found) == pytest.approx(np.abs(slope), abs=1e-8)


def test_normals_close_and_lengths_are_those_of_cubes() -> None:
    corners = distorted()
    assert hexahedra.node_normals(corners).sum(axis=1) == pytest.approx(0, abs=1e-12)
    cube = (hexahedra.SIDES.T[:, :, None] + 1) * 1.5
    assert hexahedra.characteristic_length(cube, hexahedra.volume(cube)) == pytest.approx(3)
    _, size = hexahedra.shape_derivatives(cube)
    assert size == pytest.approx(27)


def test_the_order_of_blocks_is_no_matter() -> None:
    one, other = (Lulesh(LuleshParameters(7, 2), 0) for _ in range(2))
    assert run_forwards(one) == run_backwards(other)
    assert (one.domain.reals["x"].data == other.domain.reals["x"].data).all()


def nodes_of(edge: int, element: int) -> list[int]:
    """Nodes at the corners of an element."""
    z, y, x = np.unravel_index(element, (edge, edge, edge))
    side = edge + 1
    base = int(x + side * (y + side * z))
    low = [base, base + 1, base + side + 1, base + side]
    return low + [node + side * side for node in low]


def test_stress_gathers_from_eight_corners() -> None:
    program = Lulesh(LuleshParameters(10, 1), 0)
    kernel = nth_launch(program, 1)
    assert (kernel.name, kernel.blocks) == ("IntegrateStressForElems_kernel", 4)
    operations = warp_operations(kernel, program, block=1)
    elements = [256 + lane for lane in LANES]
    corners = np.array([nodes_of(10, element) for element in elements]).T.tolist()
    assert operations[:10] == [
        ("COMPUTE", 8, []),
        *[("LOAD", "nodelist", [e + 1000 * c for e in elements]) for c in range(8)],
        ("WAIT", 0, []),
    ]
    assert operations[10:36] == [
        *[("LOAD", axis, corner) for corner in corners for axis in "xyz"],
        ("WAIT", 0, []),
        ("COMPUTE", 400, []),
    ]
    assert operations[36:42] == [
        ("STORE", "determ", elements),
        *[("LOAD", f"sig{axis}", elements) for axis in ("xx", "yy", "zz")],
        ("WAIT", 0, []),
        ("COMPUTE", 24, []),
    ]
    assert operations[42:] == [
        ("STORE", f"f{axis}_elem", [e + 1000 * c for e in elements])
        for axis in "xyz"
        for c in range(8)
    ]


def test_nodes_gather_the_forces_of_their_corners() -> None:
    program = Lulesh(LuleshParameters(10, 1), 0)
    kernel = nth_launch(program, 2)
    assert (kernel.blocks, kernel.registers_per_thread) == (6, 32)
    operations = warp_operations(kernel, program, block=5, warp=1)
    nodes = list(range(5 * 256 + 32, 11**3))
    assert [len(op[2]) for op in operations[:2]] == [0, len(nodes)]
    incident: dict[int, list[int]] = {node: [] for node in nodes}
    for element in range(1000):
        for corner, node in enumerate(nodes_of(10, element)):
            if node in incident:
                incident[node].append(element + 1000 * corner)
    first = [
        ("LOAD", "nodeElemCornerList", [n + j * 11**3 for n in nodes if len(incident[n]) > j])
        for j in range(4)
    ]
    gathers = [
        ("LOAD", f"f{axis}_elem", [incident[n][j] for n in nodes if len(incident[n]) > j])
        for j in range(4)
        for axis in "xyz"
    ]
    most = max(len(found) for found in incident.values())
    assert most == 4, "these nodes lie on a face of the cube"
    assert operations[1:] == [
        ("LOAD", "nodeElemCount", nodes),
        ("WAIT", 0, []),
        *first,
        ("WAIT", 0, []),
        *gathers,
        ("WAIT", 0, []),
        *[("COMPUTE", 3, [])] * 4,
        *[("STORE", f"f{axis}", nodes) for axis in "xyz"],
    ]


def test_hourglass_warps_are_one_corner_of_32_elements() -> None:
    program = Lulesh(LuleshParameters(10, 1), 0)
    kernel = nth_launch(program, 3)
    assert (kernel.blocks, kernel.shared_bytes) == (32, 4096)
    operations = warp_operations(kernel, program, block=2, warp=6)
    elements = [64 + lane for lane in LANES]
    nodes = [nodes_of(10, element)[6] for element in elements]
    place = [element + 6000 for element in elements]
    assert operations[1] == ("LOAD", "nodelist", place)
    assert operations[3:6] == [("LOAD", axis, nodes) for axis in "xyz"]
    shared = [op[:2] for op in operations if op[0] in ("SHARED", "BARRIER")]
    assert shared.count(("SHARED", 2)) == 2 + 1 + 1 + 36
    assert shared.count(("BARRIER", 0)) == 7
    names = ["dvdx", "dvdy", "dvdz", "x8n", "y8n", "z8n"]
    assert operations[-11:-5] == [("STORE", name, place) for name in names]
    assert operations[-5:] == [
        ("LOAD", "volo", elements),
        ("LOAD", "v", elements),
        ("WAIT", 0, []),
        ("COMPUTE", 1, []),
        ("STORE", "determ", elements),
    ]
    last = warp_operations(kernel, program, block=31, warp=0)
    assert last[1][2] == [min(992 + lane, 999) for lane in LANES], "the last element is repeated"


def test_streams_wait_for_loads_that_a_store_may_alias() -> None:
    program = Lulesh(LuleshParameters(10, 1), 0)
    velocity = nth_launch(program, 8)
    step = [("LOAD",), ("LOAD",), ("WAIT",), ("COMPUTE",), ("STORE",)]
    operations = warp_operations(velocity, program)
    assert [op[:1] for op in operations] == [("COMPUTE",), *step * 3]
    assert [op[1] for op in operations if op[0] in ("LOAD", "STORE")] == [
        "xd",
        "xdd",
        "xd",
        "yd",
        "ydd",
        "yd",
        "zd",
        "zdd",
        "zd",
    ]
    chunk = next(iter(velocity.run_block(0, 32)))
    assert set(chunk.size.tolist()) == {8}


def test_the_equation_of_state_goes_through_the_list_of_the_material() -> None:
    program = Lulesh(LuleshParameters(10, 1), 0)
    kernel = nth_launch(program, 15)
    assert kernel.name == "EvalEOSForElemsPart1_kernel"
    operations = warp_operations(kernel, program, block=1)
    assert operations[1][:2] == ("LOAD", "matElemlist")
    arrays = [op[1] for op in operations[2:] if op[0] in ("LOAD", "STORE")]
    assert arrays == [
        "e",
        "e_old",
        "delv",
        "delvc",
        "p",
        "p_old",
        "q",
        "q_old",
        "vnewc",
        "compression",
        "vnewc",
        "delvc",
        "compHalfStep",
        "qq",
        "qq_old",
        "ql",
        "ql_old",
        "work",
    ]


def test_constraints_reduce_to_one_time_step_a_block() -> None:
    program = Lulesh(LuleshParameters(10, 3), 0)
    kernel = nth_launch(program, 2 * 28 + 26)
    run(kernel, range(kernel.blocks))
    reals = program.domain.reals
    vdov, ss, length = (reals[name].data for name in ("vdov", "ss", "arealg"))
    moving = vdov != 0
    assert 0 < moving.sum() < 1000
    speed = np.sqrt(ss**2 + np.where(vdov < 0, 256 * (length * vdov) ** 2, 0))
    allowed = np.where(moving, length / speed, 1e20)
    expected = [allowed[first : first + 256].min() for first in range(0, 1000, 256)]
    assert reals["mindtcourant"].data.tolist() == expected
    kinds = [op[0] for op in warp_operations(kernel, program)]
    assert kinds.count("BARRIER") == 4
    assert kinds.count("SHARED") == 1 + 3 * 8
    assert kinds[-1] == "STORE"
    idle = warp_operations(kernel, program, warp=1)
    assert [op[0] for op in idle].count("SHARED") == 1 + 3 * 2


def test_arrays_in_the_order_of_the_copies_to_the_device() -> None:
    program = Lulesh(LuleshParameters(), 0)
    names = [buffer.name for buffer in program.buffers]
    assert names[:3] == ["x", "y", "z"]
    assert names[12:19] == [
        "nodalMass",
        "symmX",
        "symmY",
        "symmZ",
        "nodeElemCount",
        "nodeElemCornerList",
        "matElemlist",
    ]
    size = {buffer.name: buffer.bytes for buffer in program.buffers}
    assert (size["x"], size["e"], size["nodelist"]) == (97336 * 8, 91125 * 8, 91125 * 32)
    assert size["fx_elem"] == 91125 * 64


def test_a_time_step_has_28_launches() -> None:
    names = [name.removesuffix("_kernel") for name in drain(Lulesh(LuleshParameters(2, 1), 0))]
    assert names == [
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
    ]
