"""conv: its result, and what its warps do."""

import numpy as np
import pytest
import scipy.signal

from gpusim.programs.dnn_mark.conv import Conv, ConvParameters
from tests.programs.drain import drain, warp_operations
from tests.programs.graph_inputs import nth_launch, run_backwards, run_forwards


@pytest.mark.parametrize(
    "sizes",
    [
        ConvParameters(),
        ConvParameters(batch=3, channels=2, side=11, filters=18),
        ConvParameters(batch=2, channels=3, side=12, filters=5, kernel=5, padding=2, stride=2),
    ],
)
def test_layer(sizes: ConvParameters) -> None:
    program = Conv(sizes, 1)
    assert drain(program) == ["im2col", "gemm"]
    images = program.images.data.reshape(sizes.batch, sizes.channels, sizes.side, sizes.side)
    images = np.pad(images.astype(float), ((0, 0), (0, 0), *((sizes.padding,) * 2,) * 2))
    filters = program.weights.data.reshape(sizes.filters, sizes.channels, *(sizes.kernel,) * 2)
    bias = program.bias.data.reshape(sizes.filters, sizes.outputs)
    assert (bias == bias[:, :1]).all()
    result = program.output.data.reshape(sizes.filters, sizes.batch, sizes.out, sizes.out)
    for f, weights in enumerate(filters):
        for i, image in enumerate(images):
            expected = scipy.signal.correlate(image, weights, mode="valid")[0]
            expected = expected[:: sizes.stride, :: sizes.stride] + bias[f, 0]
            assert result[f, i] == pytest.approx(expected, abs=1e-4)


def test_patches_become_columns() -> None:
    sizes = ConvParameters(batch=2, channels=2, side=34)
    program = Conv(sizes, 0)
    names = ["input", "weights", "bias", "columns", "output"]
    assert [buffer.name for buffer in program.buffers] == names
    kernel = nth_launch(program, 0)
    assert (kernel.blocks, kernel.threads_per_block) == (256 * 3, 64)
    # outputs are 32 x 32 an image: block 141 of a row has 8 positions of row 3 of the second image
    operations = warp_operations(kernel, program, block=256 + 141, warp=1)
    loads, stores = [], []
    for weight in range(12, 16):
        channel, row, column = weight // 9, weight % 9 // 3, weight % 3
        start = (2 + channel) * 34 * 34 + (3 + row) * 34 + column + 8
        loads += [start + lane for lane in range(8)]
        stores += [weight * 2048 + 1024 + 104 + lane for lane in range(8)]
    assert operations == [
        ("COMPUTE", 202, []),
        ("LOAD", "input", loads),
        ("WAIT", 0, []),
        ("COMPUTE", 11, []),
        ("STORE", "columns", stores),
        ("COMPUTE", 1, []),
    ]
    (last,) = kernel.run_block(2 * 256, 32)
    assert last.active.all(axis=0).tolist() == [True, False], "weights 16 and 17 alone"


def test_padding_is_not_loaded() -> None:
    program = Conv(ConvParameters(side=32, padding=1), 0)
    kernel = nth_launch(program, 0)
    first, last = (warp_operations(kernel, program, block) for block in (0, 128))
    (loads,) = (op[2] for op in first if op[0] == "LOAD")
    assert loads == list(range(7)), "weight 3, but for column -1: the others are in row -1"
    (stores,) = (op[2] for op in first if op[0] == "STORE")
    assert len(stores) == 32
    (stores,) = (op[2] for op in last if op[0] == "STORE")
    assert stores == [8 * 1024 + lane for lane in range(8)], "weight 8 is the last"


def test_tiles_of_the_product() -> None:
    sizes = ConvParameters(channels=2, side=10, filters=20)  # 20 x 18 times 18 x 64
    program = Conv(sizes, 0)
    kernel = nth_launch(program, 1)
    assert (kernel.blocks, kernel.threads_per_block) == (4 * 2, 256)
    assert (kernel.registers_per_thread, kernel.shared_bytes) == (28, 2048)
    row, column = 2, 48  # warp 1 of block 3: rows 2 and 3
    mine = [64 * (row + y) + column + x for y in (0, 1) for x in range(16)]
    operations = warp_operations(kernel, program, block=3, warp=1)
    assert operations[1] == ("STORE", "output", mine)
    shared = ("SHARED", 1, [])
    step = [("WAIT", 0, []), shared, shared, ("BARRIER", 0, [])]
    step += [shared, shared, ("COMPUTE", 1, [])] * 16 + [("BARRIER", 0, [])]
    first = operations[2 : 5 + len(step)]
    assert first == [
        ("COMPUTE", 8, []),
        ("LOAD", "weights", [18 * (row + y) + x for y in (0, 1) for x in range(16)]),
        ("LOAD", "columns", [64 * (2 + y) + column + x for y in (0, 1) for x in range(16)]),
        *step,
    ]
    second = operations[5 + len(step) : -4]
    weights = [18 * (row + y) + 16 + x for y in (0, 1) for x in (0, 1)]
    assert second[:2] == [("COMPUTE", 8, []), ("LOAD", "weights", weights)]
    assert second[2:] == step, "rows 18 and 19 of the columns do not exist"
    assert operations[-4:] == [
        ("LOAD", "bias", mine),
        ("WAIT", 0, []),
        ("COMPUTE", 1, []),
        ("STORE", "output", mine),
    ]


def test_the_order_of_blocks_is_no_matter() -> None:
    one, other = (Conv(ConvParameters(side=12, filters=17), 0) for _ in range(2))
    assert run_forwards(one) == run_backwards(other)
    assert (one.output.data == other.output.data).all()


def test_filters_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="at most side = 4: 5"):
        ConvParameters(side=4, kernel=5)
