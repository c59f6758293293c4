"""embedding_bag: sums of rows of large tables, of which few are popular."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.programs import writing as gpu
from gpusim.programs.recsys.zipf import zipf_rows

WARP = 32
THREADS = 512
BAGS = THREADS // WARP
"""Bags of a thread block."""
NUMBERS = 4
"""Numbers of a row that a thread loads at once."""
UNROLL = 4
"""Rows whose loads are under way together."""

# fmt: off
CRITEO_ROWS = (
    40_000_000, 39_060, 17_295, 7_424, 20_265, 3, 7_122, 1_543, 63, 40_000_000, 3_067_956, 405_282,
    10, 2_209, 11_938, 155, 4, 976, 14, 40_000_000, 40_000_000, 40_000_000, 590_152, 12_973, 108,
    36,
)
CRITEO_BAGS = (3, 2, 1, 2, 6, 1, 1, 1, 1, 7, 3, 8, 1, 6, 9, 5, 1, 1, 1, 12, 100, 27, 10, 3, 1, 1)
# fmt: on
"""Rows of the tables of MLPerf's DLRM-DCNv2, and of each the rows that a sample takes
(``num_embeddings_per_feature`` and ``multi_hot_sizes`` of its reference run)."""


@frozen
class BagParameters:
    """Sizes of embedding_bag.

    Attributes:
        tables: how many; of `shape` criteo the first ones, 26 at most.
        shape: ``equal``: all have `rows` and bags of `bag`; ``criteo``: those of MLPerf's
            DLRM-DCNv2.
        rows: of a table; of `shape` criteo the most that a table has.
        bag: rows that a sample takes of a table, of `shape` equal.
        dim: numbers of a row, a multiple of 4.
        number_bytes: of a number: 4, or 2.
        batch: samples.
        exponent: of Zipf's law, by which rows are popular; 0: all are alike.
    """

    tables: int = gpu.number(8, 1, 4096)
    shape: str = gpu.choice("equal", ("equal", "criteo"))
    rows: int = gpu.number(1_000_000, 1, 1 << 31)
    bag: int = gpu.number(32, 1, 4096)
    dim: int = gpu.number(128, NUMBERS, 1024, multiple=NUMBERS)
    number_bytes: int = gpu.choice(4, (4, 2))
    batch: int = gpu.number(2048, 1, 1 << 20)
    exponent: float = gpu.number(1.05, 0, 4)

    def __attrs_post_init__(self) -> None:
        if self.shape == "criteo" and self.tables > len(CRITEO_ROWS):
            raise ValueError(f"'tables' must be from 1 to {len(CRITEO_ROWS)} of criteo")

    def sizes(self) -> Iterator[tuple[int, int]]:
        """Rows of each table, and those of a bag of it."""
        if self.shape == "equal":
            return iter([(self.rows, self.bag)] * self.tables)
        rows = (min(most, self.rows) for most in CRITEO_ROWS[: self.tables])
        return zip(rows, CRITEO_BAGS, strict=False)

    @property
    def vectors(self) -> int:
        """Pieces of four numbers of a row."""
        return self.dim // NUMBERS


@frozen
class Tables:
    """Operands.

    Attributes:
        weights: rows of all tables, one after another, in pieces of four numbers.
        table_offsets: [tables] the first row of each.
        bag_offsets: [tables * samples + 1] where bags begin among `indices`.
        indices: rows in their tables.
        output: [samples, tables, dim], in pieces of four numbers of 4 bytes.
    """

    weights: gpu.Vectors
    table_offsets: gpu.Longs
    bag_offsets: gpu.Longs
    indices: gpu.Longs
    output: gpu.Vectors


@gpu.kernel("embedding_forward", registers=32, block=THREADS, in_step=True)
def add_up(k: gpu.BlockTracer, at: Tables, of: BagParameters) -> gpu.Steps:
    """A bag of a table a warp, sixteen a thread block.

    L the table's first row and the bag's bounds; then 32 rows at a time: L indices, one a lane;
    four rows at a time: a shuffle each, L the row, four numbers a lane, additions.  S the sum.
    Registers are our choice.
    """
    bag, lane = k.bx * BAGS + k.tid // WARP, k.tid % WARP
    inside = bag < of.tables * of.batch
    table = bag // of.batch
    k.compute(2 * gpu.PROLOGUE, inside)
    base = k.load(at.table_offsets, table, inside)
    first = k.load(at.bag_offsets, bag, inside)
    end = k.load(at.bag_offsets, bag + 1, inside)
    k.wait(0, inside)
    for start, here in gpu.rounds(first, np.where(inside, end, first), WARP):
        where = inside if here is None else inside & here
        index = k.fetch(at.indices, start + lane, where & (start + lane < end))
        rows = index.reshape(-1, WARP)
        for some in gpu.groups(WARP, UNROLL):
            taken = where & (start + some[0] < end)
            if not taken.any():
                break
            k.arithmetic(gpu.Unit.INTEGER, 4 * UNROLL, 4, taken)
            for number in some:
                own = where & (start + number < end)
                row = (base + rows[:, number].repeat(WARP)) * of.vectors
                for piece in range(0, of.vectors, WARP):
                    k.load(at.weights, row + piece + lane, own & (piece + lane < of.vectors))
            k.wait(0, taken)
            k.arithmetic(gpu.Unit.FP32, UNROLL * NUMBERS * -(-of.vectors // WARP), UNROLL, taken)
            yield
    place = ((bag % of.batch) * of.tables + table) * of.vectors
    for piece in range(0, of.vectors, WARP):
        k.store(at.output, place + piece + lane, 0, inside & (piece + lane < of.vectors))


@gpu.program("embedding_bag", BagParameters)
def embedding_bag(memory: gpu.AddressSpace, parameters: BagParameters, seed: int) -> gpu.Launches:
    """The sparse part of a recommendation model: all tables in one kernel, as FBGEMM has it.

    Naumov et al., "Deep Learning Recommendation Model for Personalization and Recommendation
    Systems", 2019; MLPerf's DLRM-DCNv2; FBGEMM's table-batched embedding (fbgemm_gpu), whose
    benchmark draws rows by Zipf's law, too.  The exponent is our choice.  Indices are real; rows
    have no contents.

    Arrays in the order weights, table_offsets, bag_offsets, indices, output; one launch.
    """
    of = parameters
    rng = np.random.default_rng(seed)
    sizes = list(of.sizes())
    rows = np.array([most for most, _ in sizes])
    bags = np.array([bag for _, bag in sizes])
    drawn: list[NDArray[np.int64]] = [
        zipf_rows(rng, of.batch * bag, most, of.exponent) for most, bag in sizes
    ]
    piece = np.dtype((np.void, NUMBERS * of.number_bytes))
    weights = memory.blank("weights", int(rows.sum()) * of.vectors, piece)
    table_offsets = memory.allocate("table_offsets", np.cumsum(rows) - rows)
    ends = np.cumsum(np.repeat(bags, of.batch))
    bag_offsets = memory.allocate("bag_offsets", np.concatenate(([0], ends)))
    indices = memory.allocate("indices", np.concatenate(drawn))
    count = of.tables * of.batch
    output = memory.blank("output", count * of.vectors, np.dtype((np.void, NUMBERS * 4)))
    tables = Tables(weights, table_offsets, bag_offsets, indices, output)
    yield add_up[-(-count // BAGS), THREADS](tables, of)
