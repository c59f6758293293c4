"""cfd's mesh."""

import numpy as np
import pytest

from gpusim.programs.rodinia.tetrahedra import CUBE, FAR_FIELD, WALL, make_mesh


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
