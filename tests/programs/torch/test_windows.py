"""Convolutions, pools and batch norms touch the bytes of the windows that they are defined by."""

import numpy as np
import pytest

from gpusim.programs.torch.tensors import Operation
from tests.programs.torch.test_replay import captured, tensor, touched, whole

CASES = [
    # pictures and channels, extent, outer channels, window, stride, padding, dilation, groups
    ((2, 4), (9, 8), 6, (3, 2), (2, 1), (1, 0), (1, 2), 2),
    ((1, 3), (7, 7), 70, (1, 1), (2, 2), (0, 0), (1, 1), 1),
    ((2, 5), (33,), 5, (3,), (1,), (2,), (1,), 5),
    ((1, 2), (4, 5, 6), 3, (2, 3, 1), (1, 2, 1), (0, 1, 0), (1, 1, 1), 1),
]


def numbers(case, **more):
    return {"stride": case[4], "padding": case[5], "dilation": case[6], "groups": case[7], **more}


def extent(case):
    """Windows along each axis."""
    _, picture, _, size, stride, padding, dilation, _ = case
    return tuple(
        (n + 2 * p - d * (s - 1) - 1) // step + 1
        for n, s, step, p, d in zip(picture, size, stride, padding, dilation, strict=True)
    )


def covered(case):
    """Which elements of a picture are in a window."""
    _, picture, _, size, stride, padding, dilation, _ = case
    found = np.zeros(picture, bool)
    for window in np.ndindex(*extent(case)):
        for element in np.ndindex(*size):
            at = tuple(
                w * s - p + e * d
                for w, s, p, e, d in zip(window, stride, padding, element, dilation, strict=True)
            )
            if all(0 <= a < n for a, n in zip(at, picture, strict=True)):
                found[at] = True
    return found


def tensors(case):
    """Input, weights and output of a convolution, in storages of their own."""
    (pictures, channels), picture, outer, size, *_, groups = case
    return (
        tensor(0, pictures, channels, *picture),
        tensor(1, outer, channels // groups, *size),
        tensor(2, pictures, outer, *extent(case)),
    )


def sizes(*given):
    return [4 * one.count for one in given]


def of_pictures(case):
    """Bytes of the input that windows cover."""
    own = np.broadcast_to(covered(case), (*case[0], *case[1]))
    return np.repeat(own.ravel(), 4)


@pytest.mark.parametrize("case", CASES)
def test_convolutions(case):
    source, weight, out = tensors(case)
    one = Operation("convolution", (source, weight), (out,), numbers=numbers(case))
    ((name, loads, stores, _),) = touched(captured(one, *sizes(source, weight, out)))
    assert name == "implicit_gemm"
    assert (loads[0] == of_pictures(case)).all()
    assert (loads[1].all(), loads[2].any()) == (True, False)
    assert whole(stores) == {2}


@pytest.mark.parametrize("case", CASES)
def test_what_is_convolved_back(case):
    """A transposed convolution reads what a convolution of these sizes writes."""
    source, weight, out = tensors(case)
    one = Operation("convolution", (out, weight), (source,), numbers=numbers(case, transposed=True))
    ((_, loads, stores, _),) = touched(captured(one, *sizes(source, weight, out)))
    assert loads[2].all()
    assert loads[1].all()
    assert whole(stores) == {0}


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_gradients_of_convolutions(case, turned):
    source, weight, out = tensors(case)
    gradients = [
        tensor(3, *(out if turned else source).shape), tensor(4, *weight.shape),
        tensor(5, (source if turned else out).shape[1]),
    ]  # fmt: skip
    given = (source, out, weight) if turned else (out, source, weight)
    own = numbers(case, transposed=turned, output_mask=(True, True, True))
    one = Operation("convolution_backward", given, tuple(gradients), numbers=own)
    found = touched(captured(one, *sizes(source, weight, out, *gradients)))
    (_, inner, first, _), (_, weights, second, _), (_, _, _, _), (_, _, last, _) = found
    assert [whole(one) for one in (first, second, last)] == [{3}, {4}, {5}]
    assert inner[1].all()
    assert inner[0 if turned else 2].any()
    assert (weights[0] == of_pictures(case)).all()
    assert weights[2].all()


def test_a_bias_is_added_to_each_channel():
    given = tensor(0, 2, 3, 5, 5), tensor(1, 4, 3, 3, 3), tensor(3, 4)
    out = tensor(2, 2, 4, 3, 3)
    one = Operation("convolution", given, (out,), numbers={"stride": (1, 1)})
    (_, (_, loads, stores, _)) = touched(captured(one, 600, 432, 288, 16))
    assert (whole(loads), whole(stores)) == ({2, 3}, {2})


@pytest.mark.parametrize(
    ("name", "own", "shape"),
    [
        ("max_pool2d_with_indices", {"kernel_size": (2, 2)}, (4, 3)),
        ("avg_pool2d", {"kernel_size": (3, 3), "stride": (2, 2), "padding": (1, 1)}, (5, 4)),
        ("_adaptive_avg_pool2d", {"output_size": (2, 2)}, (2, 2)),
        ("upsample_nearest2d", {}, (18, 14)),
        ("upsample_bilinear2d", {}, (12, 9)),
    ],
)
def test_pools_and_resampled_pictures(name, own, shape):
    source, out = tensor(0, 2, 3, 9, 7), tensor(1, 2, 3, *shape)
    one = Operation(name, (source,), (out,), numbers=own)
    ((_, loads, stores, _),) = touched(captured(one, *sizes(source, out)))
    wanted = np.ones((9, 7), bool)
    if name == "max_pool2d_with_indices":
        wanted[8:], wanted[:, 6:] = False, False
    assert (loads[0].reshape(6, 9, 7, 4) == wanted[:, :, None]).all()
    assert whole(stores) == {1}


def test_gradients_of_pools():
    given = tensor(0, 2, 3, 4, 3), tensor(1, 2, 3, 9, 7), tensor(2, 2, 3, 4, 3)
    one = Operation("max_pool2d_with_indices_backward", given, (tensor(3, 2, 3, 9, 7),))
    (_, _, stores, _), (_, loads, _, _) = touched(captured(one, 288, 1512, 288, 1512))
    assert (whole(loads), whole(stores)) == ({0, 2}, {3})


@pytest.mark.parametrize(("training", "launches"), [(True, 3), (False, 1)])
def test_batch_norms(training, launches):
    x, out = tensor(0, 2, 3, 5, 4), tensor(1, 2, 3, 5, 4)
    channels = [tensor(storage, 3) for storage in (2, 3)]
    kept = (tensor(4, 3), tensor(5, 3)) if training else (tensor(4, 0), tensor(5, 0))
    one = Operation(
        "native_batch_norm", (x, *channels), (out, *kept), numbers={"training": training}
    )
    found = touched(captured(one, 480, 480, 12, 12, 12, 12))
    assert len(found) == launches
    assert set().union(*(whole(loads) for _, loads, _, _ in found)) == {0, 2, 3}
    assert set().union(*(whole(stores) for _, _, stores, _ in found)) >= {1}
