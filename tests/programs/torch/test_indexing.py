"""Operators with indices touch the elements that numpy's indexing finds."""

import numpy as np
import pytest

from gpusim.programs.torch.indexing import elements
from gpusim.programs.torch.tensors import Operation
from tests.programs.torch.test_replay import captured, tensor, touched, whole

RNG = np.random.default_rng(0)
X = np.arange(4 * 5 * 6).reshape(4, 5, 6)


class Given:
    """A tensor, as far as its contents are asked for."""

    def __init__(self, values, device="cpu"):
        self.values = np.asarray(values)
        self.shape = self.values.shape
        self.device = type("Device", (), {"type": device})

    def untyped_storage(self):
        raise AssertionError

    def detach(self):
        return self

    def numpy(self):
        return self.values


def numbers(name, *arguments):
    return elements(name, [Given(X), *arguments]).tolist()


ROWS = np.array([3, 0, -1])
MASK = X[:, 0, 0] > 30


@pytest.mark.parametrize(
    "chosen",
    [
        (ROWS,),
        (None, np.array([[1], [4]])),
        (ROWS, None, np.array([1, 2, 5])),
        (None, ROWS, ROWS),
        (MASK,),
        (X % 7 == 0,),
    ],
)
def test_lists_of_indices_and_masks(chosen):
    own = tuple(slice(None) if one is None else one for one in chosen)
    given = [None if one is None else Given(one) for one in chosen]
    assert numbers("index", given) == X[own].ravel().tolist()
    assert numbers("index_put_", given, Given(0)) == X[own].ravel().tolist()


def test_indices_of_elements_along_an_axis():
    index = RNG.integers(0, 5, (3, 7, 2))
    wanted = [X[i, index[i, j, k], k] for i, j, k in np.ndindex(3, 7, 2)]
    assert numbers("gather", 1, Given(index)) == wanted
    assert numbers("scatter_add_", -2, Given(index), Given(index)) == wanted
    along = RNG.integers(0, 4, (2, 5, 6))
    assert (
        numbers("take_along_dim", Given(along), 0)
        == np.take_along_axis(X, along, 0).ravel().tolist()
    )


def test_indices_of_rows_and_masked_elements():
    assert numbers("index_select", 2, Given(ROWS)) == X[:, :, ROWS].ravel().tolist()
    assert numbers("index_add_", 0, Given(ROWS), Given(0)) == X[ROWS].ravel().tolist()
    assert numbers("masked_select", Given(MASK[:, None, None])) == X[MASK].ravel().tolist()


def test_what_is_not_known():
    assert elements("index", [Given(X), [Given(ROWS, "meta")]]) is None
    assert elements("add", [Given(X)]) is None


def test_elements_are_read():
    chosen = np.array([7, 0, 33, 7])
    given = tensor(0, 10, 4), tensor(1, 4, size=8)
    one = Operation("index", given, (tensor(2, 4),), numbers={"indices": 1}, elements=chosen)
    ((_, loads, stores, _),) = touched(captured(one, 160, 32, 16))
    assert np.flatnonzero(loads[0].reshape(40, 4).all(1)).tolist() == [0, 7, 33]
    assert loads[0].sum() == 12
    assert loads[1].all()
    assert whole(stores) == {2}


@pytest.mark.parametrize(
    ("name", "accumulate"), [("index_put_", False), ("index_put_", True), ("scatter_add", False)]
)
def test_elements_are_written_or_added(name, accumulate):
    target = tensor(0, 10, 4)
    out = target if name.endswith("_") else tensor(3, 10, 4)
    given = target, tensor(1, 2, size=8), tensor(2, 2)
    own = {"indices": 1, "accumulate": accumulate}
    one = Operation(name, given, (out,), numbers=own, elements=np.array([1, 39]))
    *copy, (_, loads, stores, adds) = touched(captured(one, 160, 16, 8, 160))
    assert [whole(one[2]) for one in copy] == ([] if name.endswith("_") else [{3}])
    assert whole(loads) == {1, 2}
    changed = (adds if accumulate or name == "scatter_add" else stores)[out.storage]
    assert np.flatnonzero(changed.reshape(40, 4).all(1)).tolist() == [1, 39]


def test_a_mask_is_read_whole():
    given = tensor(0, 16), tensor(1, 16, size=1)
    one = Operation(
        "masked_select", given, (tensor(2, 2),), numbers={"indices": 1}, elements=np.array([3, 9])
    )
    (_, mask, _, _), (_, loads, stores, _) = touched(captured(one, 64, 16, 8))
    assert whole(mask) == {1}
    assert np.flatnonzero(loads[0]).tolist() == [*range(12, 16), *range(36, 40)]
    assert whole(stores) == {2}


def test_parts_and_repeats():
    one = Operation(
        "constant_pad_nd", (tensor(0, 3, 4),), (tensor(1, 5, 6),), numbers={"pad": (-1, 3, 2, 0)}
    )
    (_, _, fills, _), (_, loads, stores, _) = touched(captured(one, 48, 120))
    assert whole(fills) == {1}
    inside = np.zeros((5, 6), bool)
    inside[2:, :3] = True
    assert (stores[1].reshape(5, 6, 4).all(2) == inside).all()
    assert (loads[0].reshape(3, 4, 4).all(2) == [False, True, True, True]).all()
    for name, own, at in (
        ("select_backward", {"dim": 1, "index": -1}, np.s_[:, 3]),
        ("slice_backward", {"dim": 1, "start": 1, "end": 99, "step": 2}, np.s_[:, 1::2]),
    ):
        part = np.zeros((3, 4), bool)
        part[at] = True
        gradient = tensor(0, *np.zeros((3, 4))[at].shape)
        one = Operation(name, (gradient,), (tensor(1, 3, 4),), numbers=own)
        _, (_, loads, stores, _) = touched(captured(one, 4 * gradient.count, 48))
        assert loads[0].all()
        assert (stores[1].reshape(3, 4, 4).all(2) == part).all()
    one = Operation("repeat", (tensor(0, 3, 4),), (tensor(1, 2, 6, 4),))
    ((_, loads, stores, _),) = touched(captured(one, 48, 192))
    assert (whole(loads), whole(stores)) == ({0}, {1})


def test_halves_that_gate_each_other():
    whole_, half = tensor(0, 6, 8), tensor(1, 6, 4)
    one = Operation("glu", (whole_,), (half,), numbers={"dim": 1})
    ((_, loads, stores, _),) = touched(captured(one, 192, 96))
    assert (whole(loads), whole(stores)) == ({0}, {1})
    one = Operation("glu_backward", (half, whole_), (tensor(2, 6, 8),), numbers={"dim": 1})
    found = touched(captured(one, 192, 96, 192))
    assert [whole(loads) for _, loads, _, _ in found] == [{0, 1}] * 2
    assert (found[0][2][2] ^ found[1][2][2]).all()


def test_bags_of_rows():
    rows = np.array([3, 7, 3])
    given = tensor(0, 10, 16), tensor(1, 3, size=8), tensor(2, 2, size=8)
    one = Operation("_embedding_bag", given, (tensor(3, 2, 16),), indices=rows)
    (_, loads, _, _), (_, _, stores, _) = touched(captured(one, 640, 24, 16, 128))
    assert np.flatnonzero(loads[0].reshape(10, 64).all(1)).tolist() == [3, 7]
    assert loads[1].all()
    assert whole(stores) == {3}
