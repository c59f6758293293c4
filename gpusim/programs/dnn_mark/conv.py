"""conv: a layer of convolutions, as a copy of the input's patches and a matrix product."""

from __future__ import annotations

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.programs import writing as gpu

PATCH_SIDE = 8
"""Positions, and weights, of a block that copies patches, as in MGPUSim."""
TILE = 16
INDEX_INSTRUCTIONS, STORE_INSTRUCTIONS, END = 202, 11, 1
"""Divisions and comparisons for an element of a patch, what follows its load, and after its store:
216 a wavefront, as in MGPUSim's trace."""


@frozen
class ConvParameters:
    """Sizes of conv.

    Attributes:
        batch: images.
        channels: of an image.
        side: its rows and columns.
        filters: output channels.
        kernel: rows and columns of a filter.
        padding: zeros around an image.
        stride: rows and columns from one output to the next.
    """

    batch: int = gpu.number(1)
    channels: int = gpu.number(1)
    side: int = gpu.number(28)
    filters: int = gpu.number(3)
    kernel: int = gpu.number(3, most="side")
    padding: int = gpu.number(0, 0)
    stride: int = gpu.number(1)

    @property
    def out(self) -> int:
        """Rows and columns of an output image."""
        return (self.side + 2 * self.padding - self.kernel) // self.stride + 1

    @property
    def outputs(self) -> int:
        """Output positions of all images: columns of the matrix of patches."""
        return self.batch * self.out**2

    @property
    def weights(self) -> int:
        """Weights of a filter: rows of the matrix of patches."""
        return self.channels * self.kernel**2


@gpu.kernel("im2col", registers=32, in_step=True)
def im2col(
    k: gpu.BlockTracer, images: gpu.Floats, patches: gpu.Floats, sizes: ConvParameters
) -> None:
    """Each output position's patch becomes a column of a matrix: an element a thread.

    Blocks of 8 positions by 8 weights, that is of channel, row and column of the filter.  L input,
    unless it is padding, and S to the matrix: 8 neighbouring elements in each of 8 rows.
    32 registers are our estimate.

    Takes `images` ([batch][channel][row][column]), `patches` ((weights, outputs) the matrix),
    `sizes` (the layer).
    """
    weight = PATCH_SIDE * k.by + k.ty
    inside = (k.t < sizes.outputs) & (weight < sizes.weights)
    image, position = np.divmod(k.t, sizes.out**2)
    top, left = np.divmod(position, sizes.out)
    channel, offset = np.divmod(weight, sizes.kernel**2)
    row = top * sizes.stride - sizes.padding + offset // sizes.kernel
    column = left * sizes.stride - sizes.padding + offset % sizes.kernel
    real = inside & (row >= 0) & (row < sizes.side) & (column >= 0) & (column < sizes.side)
    element = (image * sizes.channels + channel) * sizes.side + row
    element = element * sizes.side + column
    k.compute(INDEX_INSTRUCTIONS, inside)
    value = k.fetch(images, element, real)
    k.compute(STORE_INSTRUCTIONS, inside)
    value = np.where(real, value, np.float32(0))
    k.store(patches, weight * sizes.outputs + k.t, value, inside)
    k.compute(END, inside)


@frozen
class Product:
    """Matrices of d = a b + c.

    Attributes:
        a, b: (rows, inner) and (inner, columns).
        c, d: (rows, columns).
        rows, columns, inner: their sizes.
    """

    a: gpu.Floats
    b: gpu.Floats
    c: gpu.Floats
    d: gpu.Floats
    rows: int
    columns: int
    inner: int


def _tile_product(
    k: gpu.BlockTracer, of: Product, row: gpu.Lanes, column: gpu.Lanes, start: int
) -> NDArray[np.float32]:
    across, down = start + k.tx, start + k.ty
    in_a: gpu.Mask = (row < of.rows) & (across < of.inner)
    in_b: gpu.Mask = (column < of.columns) & (down < of.inner)
    a = k.load(of.a, row * of.inner + across, in_a)
    b = k.load(of.b, down * of.columns + column, in_b)
    k.wait()
    k.shared(1, times=2)
    k.barrier()
    for _ in range(TILE):
        k.shared(1, times=2)
        k.compute(1)
    k.barrier()
    left = np.where(in_a, a, np.float32(0)).reshape(k.blocks, TILE, TILE)
    right = np.where(in_b, b, np.float32(0)).reshape(k.blocks, TILE, TILE)
    product: NDArray[np.float32] = left @ right
    return product


@gpu.kernel("gemm", registers=28, shared=2 * 4 * TILE * TILE, in_step=True)
def multiply(k: gpu.BlockTracer, of: Product) -> gpu.Steps:
    """The product d = a b + c, a tile of 16 x 16 elements a block.

    S d = 0; then for each 16 of the inner dimension: L a[row][16 i + x], L b[16 i + y][column] (0
    outside), both into shared memory, barrier, 16 times two shared-memory loads and an instruction,
    barrier; then L c, S d.  Shared memory has no bank conflicts.
    28 registers are our estimate.
    """
    row, column = TILE * k.by + k.ty, k.t
    inside = (row < of.rows) & (column < of.columns)
    element = row * of.columns + column
    total = np.zeros((k.blocks, TILE, TILE), dtype=np.float32)
    k.compute(gpu.PROLOGUE)
    k.store(of.d, element, 0.0, inside)
    for start in range(0, of.inner, TILE):
        k.compute(gpu.PROLOGUE)
        total += _tile_product(k, of, row, column, start)
        yield
    bias = k.fetch(of.c, element, inside)
    k.compute(1, inside)
    k.store(of.d, element, total.ravel() + bias, inside)


@gpu.program("conv", ConvParameters)
def conv(memory: gpu.AddressSpace, parameters: ConvParameters, seed: int) -> gpu.Launches:
    """The forward pass of a convolutional layer.

    DNNMark calls a vendor's library, whose source is not public.  This is the open way of doing it
    (MGPUSim's): patches to columns, then filters times columns plus bias.  Sizes of its example are
    the defaults.  The output stays [filter][image][row][column].  Arrays in the order input,
    weights, bias (one value for each output element), columns, output (our choice); images,
    weights and bias are random in -1..1.
    """
    sizes, generator = parameters, np.random.default_rng(seed)

    def values(name: str, count: int, repeat: int = 1) -> gpu.Floats:
        found = 2 * generator.random(count, dtype=np.float32) - 1
        return memory.read_only(name, np.repeat(found, repeat))

    images = values("input", sizes.batch * sizes.channels * sizes.side**2)
    weights = values("weights", sizes.filters * sizes.weights)
    bias = values("bias", sizes.filters, sizes.outputs)
    patches = memory.zeros("columns", sizes.weights * sizes.outputs, np.float32)
    output = memory.zeros("output", sizes.filters * sizes.outputs, np.float32)
    grid = (-(-sizes.outputs // PATCH_SIDE), -(-sizes.weights // PATCH_SIDE))
    yield im2col[grid, (PATCH_SIDE, PATCH_SIDE)](images, patches, sizes)
    product = Product(weights, patches, bias, output, sizes.filters, sizes.outputs, sizes.weights)
    grid = (-(-sizes.outputs // TILE), -(-sizes.filters // TILE))
    yield multiply[grid, (TILE, TILE)](product)
