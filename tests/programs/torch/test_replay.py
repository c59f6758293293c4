"""Operators of PyTorch are replayed on the addresses of their tensors: each byte that they need."""

import numpy as np
import pytest

import gpusim
from gpusim.core.errors import UserError
from gpusim.core.warp_program import INACTIVE, MEMORY_OPS, Op
from gpusim.programs.torch.capture import TorchCapture
from gpusim.programs.torch.tensors import Operation, Storage, Tensor
from tests.quick import quick

LOADS, STORES = {Op.LOAD}, {Op.STORE}


def tensor(storage, *shape, size=4, offset=0, strides=None):
    """A dense tensor if no strides are given."""
    own = strides or tuple(int(np.prod(shape[axis + 1 :])) for axis in range(len(shape)))
    return Tensor(storage, size, offset, shape, own)


def touched(capture):
    """By launch: kernel, and the bytes that it loads, stores and changes, by storage."""
    program = capture.program()
    bases = np.array([buffer.base for buffer in program.buffers])
    found = []
    for launch in program.launches():
        marks = {
            op: [np.zeros(buffer.bytes, bool) for buffer in program.buffers]
            for op in (Op.LOAD, Op.STORE, Op.REDUCE)
        }
        for block in range(launch.blocks):
            for chunk in launch.run_block(block, 32):
                row = 0
                for kind in chunk.kind:
                    if kind not in MEMORY_OPS:
                        continue
                    address = chunk.address[row]
                    used = address[address != INACTIVE]
                    which = np.searchsorted(bases, used, side="right") - 1
                    for byte in range(int(chunk.size[row])):
                        for number in np.unique(which):
                            mine = used[which == number] - bases[number] + byte
                            marks[Op(kind)][number][mine] = True
                    row += 1
        found.append((launch.name, *marks.values()))
    return found


def captured(operation, *sizes):
    storages = [Storage(f"s{number}", size) for number, size in enumerate(sizes)]
    return TorchCapture("operators", storages, [operation])


def whole(marks):
    """The storages of which all bytes are touched, and those of which none is."""
    full = {number for number, one in enumerate(marks) if one.all()}
    assert all(one.all() or not one.any() for one in marks)
    return full


@pytest.mark.parametrize("count", [4096, 1000, 7])
def test_elements_at_one_place(count):
    one = Operation("add", (tensor(0, count), tensor(1, count)), (tensor(2, count),), True)
    ((_, loads, stores, _),) = touched(captured(one, *[4 * count] * 3))
    assert (whole(loads), whole(stores)) == ({0, 1}, {2})


def test_a_row_that_is_repeated_and_a_matrix_turned_around():
    turned = tensor(0, 24, 40, strides=(1, 24))
    one = Operation("mul", (turned, tensor(1, 40)), (tensor(2, 24, 40),), True)
    ((name, loads, stores, _),) = touched(captured(one, 3840, 160, 3840))
    assert name == "unrolled_elementwise"
    assert (whole(loads), whole(stores)) == ({0, 1}, {2})


def test_slices_touch_only_their_part():
    part = tensor(0, 8, 16, offset=64, strides=(64, 1))
    one = Operation("copy_", (part,), (tensor(1, 8, 16),))
    ((_, (loads, _), (_, stores), _),) = touched(captured(one, 4 * 64 * 9, 512))
    wanted = np.zeros((9, 64, 4), bool)
    wanted[1:, :16] = True
    assert (loads == wanted.ravel()).all()
    assert stores.all()


@pytest.mark.parametrize(
    ("name", "passes"), [("_softmax", 3), ("native_layer_norm", 2), ("sum", 1)]
)
def test_rows(name, passes):
    out = tensor(1, 30, 1) if name == "sum" else tensor(1, 30, 100)
    one = Operation(name, (tensor(0, 30, 100),), (out,))
    capture = captured(one, 12000, 4 * out.count)
    ((_, loads, stores, _),) = touched(capture)
    assert (whole(loads), whole(stores)) == ({0}, {1})
    (launch,) = capture.program().launches()
    rows = sum(np.count_nonzero(chunk.kind == Op.LOAD) for chunk in launch.run_block(0, 32))
    assert rows == passes


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(("m", "n", "k"), [(64, 64, 32), (100, 70, 50), (1, 128, 96)])
def test_products(m, n, k, turned):
    right = tensor(1, k, n, strides=(1, k)) if turned else tensor(1, k, n)
    one = Operation("mm", (tensor(0, m, k), right), (tensor(2, m, n),))
    ((_, loads, stores, _),) = touched(captured(one, 4 * m * k, 4 * k * n, 4 * m * n))
    assert (whole(loads), whole(stores)) == ({0, 1}, {2})


def test_products_with_a_row_that_is_added():
    given = (tensor(3, 70), tensor(0, 30, 50), tensor(1, 50, 70))
    one = Operation("addmm", given, (tensor(2, 30, 70),))
    ((_, loads, stores, _),) = touched(captured(one, 6000, 14000, 8400, 280))
    assert (whole(loads), whole(stores)) == ({0, 1, 3}, {2})
    given = (tensor(0, 2, 15, 50), tensor(1, 70, 50), tensor(3, 70))
    one = Operation("linear", given, (tensor(2, 2, 15, 70),))
    ((_, loads, stores, _),) = touched(captured(one, 6000, 14000, 8400, 280))
    assert (whole(loads), whole(stores)) == ({0, 1, 3}, {2})


def test_products_of_batches_in_halves():
    sizes = [2 * 3 * 64 * 32, 2 * 3 * 32 * 48, 2 * 3 * 64 * 48]
    given = (tensor(0, 3, 64, 32, size=2), tensor(1, 3, 32, 48, size=2))
    one = Operation("bmm", given, (tensor(2, 3, 64, 48, size=2),))
    ((_, loads, stores, _),) = touched(captured(one, *sizes))
    assert (whole(loads), whole(stores)) == ({0, 1}, {2})


def test_lookups_read_the_rows_that_are_asked_for():
    rows = np.array([[3, 7], [3, 0]])
    given = (tensor(0, 10, 16), tensor(1, 2, 2, size=8))
    one = Operation("embedding", given, (tensor(2, 2, 2, 16),), indices=rows)
    ((_, loads, stores, _),) = touched(captured(one, 640, 32, 256))
    assert np.flatnonzero(loads[0].reshape(10, 64).all(axis=1)).tolist() == [0, 3, 7]
    assert loads[1].all()
    assert whole(stores) == {2}


def test_gradients_of_lookups_are_added_atomically():
    rows = np.array([3, 7, 3])
    given = (tensor(0, 3, 16), tensor(1, 3, size=8))
    one = Operation("embedding_dense_backward", given, (tensor(2, 10, 16),), indices=rows)
    (_, _, zeros, _), (_, loads, _, adds) = touched(captured(one, 192, 24, 640))
    assert whole(zeros) == {2}
    assert loads[0].all()
    assert np.flatnonzero(adds[2].reshape(10, 64).all(axis=1)).tolist() == [3, 7]


@pytest.mark.parametrize("causal", [False, True])
def test_attention_with_fewer_heads_of_keys(causal):
    given = (tensor(0, 2, 4, 100, 16), tensor(1, 2, 2, 100, 16), tensor(2, 2, 2, 100, 16))
    out = (tensor(3, 2, 4, 100, 16),)
    numbers = {"is_causal": causal}
    one = Operation("scaled_dot_product_attention", given, out, numbers=numbers)
    ((_, loads, stores, _),) = touched(captured(one, 51200, 25600, 25600, 51200))
    assert (whole(loads), whole(stores)) == ({0, 1, 2}, {3})


@pytest.mark.parametrize("causal", [False, True])
def test_gradients_of_attention(causal):
    own = [tensor(number, 2, 3, 70, 16) for number in range(8)]
    given = (*own[:5], tensor(8, 2, 3, 70))
    name, numbers = "_scaled_dot_product_flash_attention_for_cpu_backward", {"is_causal": causal}
    one = Operation(name, given, tuple(own[5:]), numbers=numbers)
    found = touched(captured(one, *[26880] * 8, 1680))
    assert set().union(*(whole(loads) for _, loads, _, _ in found)) == {0, 1, 2, 3, 4, 8}
    assert set().union(*(whole(stores) for _, _, stores, _ in found)) == {5, 6, 7}


@pytest.mark.parametrize("name", ["cat", "stack"])
def test_tensors_put_together(name):
    out = tensor(2, 2, 8, 16) if name == "stack" else tensor(2, 16, 16)
    one = Operation(name, (tensor(0, 8, 16), tensor(1, 8, 16)), (out,), numbers={"dim": 0})
    first, second = touched(captured(one, 512, 512, 1024))
    assert (whole(first[1]), whole(second[1])) == ({0}, {1})
    assert (first[2][2] ^ second[2][2]).all()


def test_what_is_not_known_is_listed():
    known = Operation("relu", (tensor(0, 64),), (tensor(0, 64),), True)
    other = Operation("_fft_r2c", (tensor(0, 64),), (tensor(0, 64),))
    view = Operation("view", (tensor(0, 64),), (tensor(0, 64),))
    capture = TorchCapture("c", [Storage("x", 256)], [known, other, other, view])
    assert capture.unknown == {"_fft_r2c": 2}
    with gpusim.simulate("tiny", capture) as result:
        assert any(
            "not replayed, and how often they ran: _fft_r2c (2)" in one for one in result.warnings
        )


def test_a_model_and_its_training_step():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Embedding(100, 16),
        torch.nn.Linear(16, 32),
        torch.nn.GELU(),
        torch.nn.LayerNorm(32),
    )
    tokens = torch.randint(0, 100, (4, 8))
    optimizer = torch.optim.Adam(model.parameters())
    with gpusim.capture_torch("step", model=model, tensors={"tokens": tokens}) as capture:
        model(tokens).square().mean().backward()
        optimizer.step()
    assert capture.unknown == {}
    assert [one.name for one in capture.storages[:6]] == [
        "0.weight", "1.weight", "1.bias", "3.weight", "3.bias", "tokens",
    ]  # fmt: skip
    names = [one.name for one in capture.operations]
    assert names[:3] == ["embedding", "addmm", "gelu"]
    lookup = capture.operations[0]
    assert (lookup.indices == tokens.numpy()).all()
    with gpusim.simulate("tiny", capture) as result:
        assert len(result.launches) >= len(capture.operations)
        assert set(result.arrays.name) >= {"0.weight", "tokens"}


def test_tensors_without_contents():
    torch = pytest.importorskip("torch")
    with torch.device("meta"):
        model = torch.nn.Linear(64, 64)
        x = torch.empty(8, 64)
    with gpusim.capture_torch("meta", model=model) as capture:
        model(x)
    (product,) = [one for one in capture.operations if one.name == "addmm"]
    assert capture.storages[product.inputs[2].storage].name == "weight"


MODELS = {
    "pictures": lambda nn: nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.ConvTranspose2d(8, 4, 2, stride=2), nn.GroupNorm(2, 4), nn.Upsample(scale_factor=2),
        nn.Conv2d(4, 4, 3, groups=4), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(16, 3),
    ),
    "recurrent": lambda nn: nn.LSTM(16, 8, 2, batch_first=True),
    "activations": lambda nn: nn.Sequential(
        nn.Hardswish(), nn.LeakyReLU(), nn.Softplus(), nn.PReLU(), nn.ELU(), nn.Hardtanh(),
        nn.Linear(16, 8), nn.Mish(), nn.LogSigmoid(), nn.Hardsigmoid(), nn.GLU(),
    ),
    "transformer": lambda nn: nn.TransformerEncoderLayer(16, 2, 32, batch_first=True),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "trains"),
    quick([(name, trains) for name in MODELS for trains in (False, True)], ("pictures", True)),
)
def test_models_of_layers_leave_nothing_out(name, trains):
    torch = pytest.importorskip("torch")
    model = MODELS[name](torch.nn).train(trains)
    x = torch.randn(2, 3, 8, 8) if name == "pictures" else torch.randn(2, 5, 16)
    with gpusim.capture_torch(name, model=model) as capture:
        out = model(x)
        if trains:
            (out[0] if isinstance(out, tuple) else out).sum().backward()
    assert capture.unknown == {}
    with gpusim.simulate("tiny", capture) as result:
        assert len(result.launches) >= len(capture.operations)


def test_indices_are_those_of_the_program():
    torch = pytest.importorskip("torch")
    x = torch.arange(60.0).view(4, 5, 3)
    rows, places = torch.tensor([3, 0, 3]), torch.randint(0, 5, (4, 2, 3))
    with gpusim.capture_torch() as capture:
        found = [
            x[rows], x[:, rows], x[x > 40], x.gather(1, places), x.index_select(2, rows % 3),
            x.masked_select(x < 9), torch.take_along_dim(x, places, 1),
        ]  # fmt: skip
        x.scatter_(1, places, 0.0)
        x[rows, rows] = 1.0
    indexed = [one for one in capture.operations if one.elements is not None]
    assert len(indexed) == 9
    for one, out in zip(indexed, found, strict=False):
        assert one.elements.tolist() == out.flatten().tolist()
    assert capture.unknown == {}


def test_what_cannot_be_replayed_is_told():
    torch = pytest.importorskip("torch")
    matrix, ones = torch.eye(4).to_sparse(), torch.ones(4, 2)
    with gpusim.capture_torch("sparse") as capture:
        matrix @ ones
    assert capture.unknown == {"mm of sparse tensors": 1}
    with pytest.raises(UserError, match="'sparse': no operator that is replayed has run in the"):
        gpusim.simulate("tiny", capture)
