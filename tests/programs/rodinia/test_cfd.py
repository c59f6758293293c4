"""cfd: its mesh, its flow, and what its warps do."""

import numpy as np
import pytest

from gpusim.programs.rodinia.cfd import Cfd, CfdParameters, far_field
from gpusim.programs.rodinia.tetrahedra import CUBE, FAR_FIELD, WALL, make_mesh
from tests.programs.drain import drain, warp_operations
from tests.programs.graph_inputs import LANES, nth_launch, run, run_backwards, run_forwards


@pytest.mark.parametrize("disorder", [0.0, 16.0])
def test_the_mesh_is_closed_and_symmetric(disorder: float) -> None:
    mesh = make_mesh(6 * (9**3 - 3**3), disorder, np.random.default_rng(1))
    neighbours, normals = mesh.neighbours, mesh.normals
    assert normals.sum(axis=1) == pytest.approx(0), "the faces of an element close"
    face, element = np.nonzero(neighbours >= 0)
    across = neighbours[face, element]
    back_face, back = np.nonzero(neighbours[:, across] == element)
    assert (np.sort(back) == np.arange(len(across))).all(), "exactly one face leads back"
    back_face = back_face[np.argsort(back)]
    assert (normals[:, back_face, across] == -normals[:, face, element]).all()
    area = CUBE**2 * 2
    assert (neighbours == WALL).sum() * CUBE**2 / 2 == 6 * 3**2 * CUBE**2
    assert (neighbours == FAR_FIELD).sum() * CUBE**2 / 2 == 6 * 9**2 * area / 2
    assert np.bincount(across).max() <= 4


def test_a_mesh_of_any_number_ends_in_the_far_field() -> None:
    mesh = make_mesh(1000, 8.0, np.random.default_rng(1))
    assert mesh.neighbours.shape == (4, 1000)
    assert mesh.neighbours.min() == FAR_FIELD
    assert mesh.neighbours.max() < 1000


def flux_of(state: np.ndarray) -> np.ndarray:
    """(5, 3) the Euler fluxes of a state."""
    density, momentum, energy = state[0], state[1:4], state[4]
    pressure = 0.4 * (energy - momentum @ momentum / density / 2)
    rows = [momentum, *(np.outer(momentum, momentum) / density + pressure * np.eye(3))]
    return np.array([*rows, (energy + pressure) * momentum / density])


def signal(state: np.ndarray) -> float:
    """Speed and speed of sound."""
    speed = float(np.linalg.norm(state[1:4])) / state[0]
    return float(speed + np.sqrt(1.4 * 0.4 * (state[4] / state[0] - speed**2 / 2)))


def step(program: Cfd, variables: np.ndarray) -> np.ndarray:
    """One time step, element by element, in double precision."""
    n = variables.shape[1]
    neighbours = program.neighbours.data.reshape(4, -1)
    normals = program.normals.data.reshape(3, 4, -1).astype(float)
    old = variables
    factor = [0.5 / np.sqrt(program.areas.data[e]) / signal(old[:, e]) for e in range(n)]
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


def test_two_time_steps() -> None:
    program = Cfd(CfdParameters(elements=250, iterations=2), 3)
    names = drain(program)
    stages = ["cuda_compute_flux", "cuda_time_step"] * 3
    assert names == ["cuda_initialize_variables"] * 3 + ["cuda_compute_step_factor", *stages] * 2
    expected = np.repeat(far_field().astype(float)[:, None], program.padded, axis=1)
    for _ in range(2):
        expected = step(program, expected)
    found = program.variables.data.reshape(5, -1)
    assert np.ptp(found, axis=1).min() > 1e-3, "the body disturbs every variable"
    assert found == pytest.approx(expected, abs=1e-4)


def test_initialisation_writes_the_far_field() -> None:
    program = Cfd(CfdParameters(elements=200), 0)
    program.variables.data[:] = 0
    kernel = nth_launch(program, 0)
    run(kernel, range(kernel.blocks))
    assert (program.variables.data.reshape(5, -1) == far_field()[:, None]).all()
    assert [op[:2] for op in warp_operations(kernel, program)] == [
        ("COMPUTE", 8),
        *[("STORE", "variables")] * 5,
    ]


def test_the_order_of_blocks_is_no_matter() -> None:
    one, other = (Cfd(CfdParameters(elements=700, iterations=1), 3) for _ in range(2))
    assert run_forwards(one) == run_backwards(other)


def test_compute_flux_gathers_where_there_is_a_neighbour() -> None:
    program = Cfd(CfdParameters(elements=700), 3)
    kernel = nth_launch(program, 4)
    assert (kernel.name, kernel.blocks, kernel.threads_per_block) == ("cuda_compute_flux", 4, 192)
    threads = [192 + 64 + lane for lane in LANES]
    n = 768
    operations = warp_operations(kernel, program, block=1, warp=2)
    assert operations[:8] == [
        ("COMPUTE", 8, []),
        *[("LOAD", "variables", [t + j * n for t in threads]) for j in range(5)],
        ("WAIT", 0, []),
        ("COMPUTE", 60, []),
    ]
    expected = []
    for face in range(4):
        neighbour = program.neighbours.data[[t + face * n for t in threads]]
        inner = neighbour[neighbour >= 0].tolist()
        expected += [
            ("LOAD", "elements_surrounding_elements", [t + face * n for t in threads]),
            *[("LOAD", "normals", [t + (face + 4 * a) * n for t in threads]) for a in range(3)],
            ("WAIT", 0, []),
            ("COMPUTE", 18, []),
            *[("LOAD", "variables", [e + j * n for e in inner]) for j in range(5)],
            ("WAIT", 0, []),
            ("COMPUTE", 115, []),
            *[("COMPUTE", 6, [])] * bool((neighbour == WALL).any()),
            *[("COMPUTE", 75, [])] * bool((neighbour == FAR_FIELD).any()),
        ]
    assert operations[8:-5] == expected
    assert operations[-5:] == [("STORE", "fluxes", [t + j * n for t in threads]) for j in range(5)]


def test_streams_of_the_other_kernels() -> None:
    program = Cfd(CfdParameters(elements=700), 3)
    assert [op[:2] for op in warp_operations(nth_launch(program, 3), program)] == [
        ("COMPUTE", 8),
        *[("LOAD", "variables")] * 5,
        ("LOAD", "areas"),
        ("WAIT", 0),
        ("COMPUTE", 40),
        ("STORE", "step_factors"),
    ]
    fresh = Cfd(CfdParameters(elements=700), 3)
    operations = warp_operations(nth_launch(fresh, 5), fresh)
    assert operations[:2] == [("COMPUTE", 8, []), ("LOAD", "step_factors", LANES)]
    for number, j in enumerate((0, 4, 1, 2, 3)):
        index = [lane + j * 768 for lane in LANES]
        assert operations[2 + 5 * number : 7 + 5 * number] == [
            ("LOAD", "old_variables", index),
            ("LOAD", "fluxes", index),
            ("WAIT", 0, []),
            ("COMPUTE", 10, []),
            ("STORE", "variables", index),
        ]


def test_arrays_lie_in_the_order_of_the_suite() -> None:
    program = Cfd(CfdParameters(elements=700), 0)
    names = [
        "areas",
        "elements_surrounding_elements",
        "normals",
        "variables",
        "old_variables",
        "fluxes",
        "step_factors",
    ]
    assert [buffer.name for buffer in program.buffers] == names
    words = [1, 4, 12, 5, 5, 5, 1]
    assert [buffer.bytes for buffer in program.buffers] == [768 * 4 * word for word in words]


def test_the_numbering_is_as_local_as_stated() -> None:
    neighbours = make_mesh(97_046, 16.0, np.random.default_rng(0)).neighbours
    distance = np.abs(neighbours - np.arange(97_046))[neighbours >= 0]
    assert np.median(distance) == pytest.approx(26, abs=2)
    assert (distance > 2000).mean() == pytest.approx(1 / 6, abs=0.02)
    assert (neighbours == WALL).mean() == pytest.approx(0.002, abs=2e-4)
    lines = np.where(neighbours >= 0, neighbours // 32, -1)[:, :97_024].reshape(-1, 32)
    lines.sort(axis=1)
    distinct = (np.diff(lines, axis=1, prepend=-1) != 0).sum(axis=1)
    assert distinct.mean() == pytest.approx(7.0, abs=0.1)
