"""Hexahedra: volumes, their derivatives, normals and lengths."""

import numpy as np
import pytest

from gpusim.programs.proxy_apps import hexahedra


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
