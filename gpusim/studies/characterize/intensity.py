"""Reuse intensity: which share of a block's page accesses can profit from reuse (ORCH §III-C)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.studies.characterize.blocks import BlockAccesses

BIN_NAMES = ("b1: < 20 %", "b2: 20–40 %", "b3: 40–60 %", "b4: 60–80 %", "b5: ≥ 80 %")
"""ORCH's bins; a bound belongs to the upper one."""

BINS = len(BIN_NAMES)

MAX_BLOCKS = 1024
"""Blocks of a launch of which all ordered pairs are counted; of more, this many are drawn."""


@frozen(eq=False)
class BlockPages:
    """What each block of a launch touches; blocks without accesses are left out.

    Attributes:
        page: (n,) int64, the distinct pages of each block, block after block.
        count: (n,) int64, accesses to each.
        bounds: (blocks + 1,) int64, where each block begins in `page`.
        total: (blocks,) int64, accesses of each block.
    """

    page: NDArray[np.int64]
    count: NDArray[np.int64]
    bounds: NDArray[np.int64]
    total: NDArray[np.int64]

    @classmethod
    def of(cls, blocks: Sequence[BlockAccesses]) -> BlockPages:
        """The pages of the blocks of a launch, of which at least one has accesses."""
        found = [np.unique(one.page, return_counts=True) for one in blocks if one.page.size]
        lengths = [len(page) for page, _ in found]
        counts = [count for _, count in found]
        return cls(
            np.concatenate([page for page, _ in found]),
            np.concatenate(counts).astype(np.int64),
            np.concatenate(([0], np.cumsum(lengths))),
            np.array([count.sum() for count in counts], dtype=np.int64),
        )

    def chosen(self, blocks: NDArray[np.int64]) -> BlockPages:
        """Some of the blocks."""
        lengths = np.diff(self.bounds)[blocks]
        bounds = np.concatenate(([0], np.cumsum(lengths)))
        where = np.arange(bounds[-1]) + np.repeat(self.bounds[blocks] - bounds[:-1], lengths)
        return BlockPages(self.page[where], self.count[where], bounds, self.total[blocks])


def intra_block_bins(pages: BlockPages) -> NDArray[np.int64]:
    """How many blocks have which intensity of reuse within themselves.

    It is the share of a block's accesses whose page the block has accessed before [our choice:
    ORCH's equation gives 1 for any block paired with itself; docs/reproduction has another
    reading].

    Returns:
        (`BINS`,) blocks in each bin.
    """
    reused = np.add.reduceat(pages.count - 1, pages.bounds[:-1])
    return np.bincount(bin_of(reused, pages.total), minlength=BINS).astype(np.int64)


def inter_block_bins(pages: BlockPages) -> NDArray[np.int64]:
    """How many ordered pairs of different blocks have which intensity of reuse between them.

    R(c1, c2) is the share of the accesses of c1 whose page c2 accesses as well.

    Returns:
        (`BINS`,) ordered pairs in each bin.
    """
    from scipy.sparse import csr_array

    blocks = len(pages.total)
    names, column = np.unique(pages.page, return_inverse=True)
    shape = (blocks, len(names))
    accesses = csr_array((pages.count, column, pages.bounds), shape=shape)
    touched = csr_array((np.ones_like(pages.count), column, pages.bounds), shape=shape)
    common = (accesses @ touched.T).tocoo()
    other = common.row != common.col
    found = bin_of(common.data[other], pages.total[common.row[other]])
    bins = np.bincount(found, minlength=BINS).astype(np.int64)
    bins[0] += blocks * (blocks - 1) - len(found)  # pairs with nothing in common
    return bins


def sample_blocks(pages: BlockPages, rng: np.random.Generator) -> BlockPages:
    """All blocks, or `MAX_BLOCKS` of them drawn without replacement."""
    blocks = len(pages.total)
    if blocks <= MAX_BLOCKS:
        return pages
    return pages.chosen(np.sort(rng.choice(blocks, MAX_BLOCKS, replace=False)))


def bin_of(part: NDArray[np.int64], whole: NDArray[np.int64]) -> NDArray[np.int64]:
    """The bin of ``part / whole``, in whole numbers."""
    found: NDArray[np.int64] = np.minimum(BINS * part // whole, BINS - 1)
    return found
