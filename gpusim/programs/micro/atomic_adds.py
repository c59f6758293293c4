"""atomic_adds: every thread adds to one of a few words."""

from __future__ import annotations

import numpy as np

from gpusim.programs import writing as gpu

WORD = 4


@gpu.kernel("add", registers=16, in_step=True)
def add(
    k: gpu.BlockTracer, words: gpu.Ints, cells: int, step: int, times: int, returning: bool
) -> gpu.Steps:
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


@gpu.program("atomic_adds")
def atomic_adds(
    memory: gpu.AddressSpace,
    _seed: int,
    cells: int = gpu.number(1024, 1, 1 << 26),
    stride: int = gpu.number(4, WORD, 1 << 20, multiple=WORD),
    blocks: int = gpu.number(64, 1, 1 << 20),
    threads: int = gpu.number(256, 1, 1024),
    times: int = gpu.number(4, 1, 1 << 20),
    returning: bool = False,
) -> gpu.Launches:
    """One launch; the words together then hold as many as there were additions.

    Parameters:
        cells: words that are added to: 1: all threads to the same one.
        stride: bytes from one of them to the next.
        blocks, threads: of the grid; threads a block.
        times: that each thread adds.
        returning: whether the old value comes back (ATOM), or not (RED).
    """
    step = stride // WORD
    words = memory.zeros("words", cells * step, np.int32)
    yield add[blocks, threads](words, cells, step, times, returning)
