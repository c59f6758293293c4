"""atomic_adds: every thread adds to one of a few words."""

from __future__ import annotations

import numpy as np
from attrs import field, frozen
from attrs.validators import ge, le

from gpusim.programs.parameters import multiple_of
from gpusim.programs.writing import (
    AddressSpace,
    BlockTracer,
    Ints,
    Launches,
    Steps,
    kernel,
    program,
)

WORD = 4


@kernel("add", registers=16, in_step=True)
def add(k: BlockTracer, words: Ints, cells: int, step: int, times: int, returning: bool) -> Steps:
    """Each thread adds 1, several times.

    Takes `words` (the array), `cells` (words that are added to), `step` (words from one of them to
    the next), `times` (that each thread adds), `returning` (whether the old value comes back, and
    is waited for).
    """
    for turn in range(times):
        index = (k.t + turn) % cells * step
        if returning:
            k.atomic_add(words, index, 1)
            k.wait()
        else:
            k.reduce_add(words, index, 1)
        yield


@frozen
class AtomicAddsParameters:
    """Who adds to what.

    Attributes:
        cells: words that are added to: 1: all threads to the same one.
        stride: bytes from one of them to the next.
        blocks, threads: of the grid; threads a block.
        times: that each thread adds.
        returning: whether the old value comes back (ATOM), or not (RED).
    """

    cells: int = field(default=1024, validator=[ge(1), le(1 << 26)])
    stride: int = field(default=4, validator=[ge(WORD), le(1 << 20), multiple_of(WORD)])
    blocks: int = field(default=64, validator=[ge(1), le(1 << 20)])
    threads: int = field(default=256, validator=[ge(1), le(1024)])
    times: int = field(default=4, validator=[ge(1), le(1 << 20)])
    returning: bool = False


@program("atomic_adds", AtomicAddsParameters)
def atomic_adds(memory: AddressSpace, parameters: AtomicAddsParameters, _seed: int) -> Launches:
    """One launch; the words together then hold as many as there were additions."""
    step = parameters.stride // WORD
    words = memory.zeros("words", parameters.cells * step, np.int32)
    yield add[parameters.blocks, parameters.threads](
        words, parameters.cells, step, parameters.times, parameters.returning
    )
