"""radix_sort: keys of 32 bits are sorted, a digit of eight bits at a time."""

from __future__ import annotations

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.programs import writing as gpu

THREADS = 256
ITEMS = 16
"""Keys of a thread; neighbouring threads have neighbouring keys."""
TILE = THREADS * ITEMS
DIGIT_BITS = 8
DIGITS = 1 << DIGIT_BITS
PASSES = 32 // DIGIT_BITS


@frozen
class Pass:
    """One digit.

    Attributes:
        source, out: keys before and after.
        status: [tiles, digits] how many keys of a digit tiles up to this one have.
        first: [digits] where the keys of each digit begin.
        place: of each key, where it goes.
    """

    source: gpu.Ints
    out: gpu.Ints
    status: gpu.Ints
    first: gpu.Ints
    place: NDArray[np.int64]


@gpu.kernel("histogram", registers=32, block=THREADS, shared=4 * PASSES * DIGITS, in_step=True)
def histogram(
    k: gpu.BlockTracer, keys: gpu.Ints, counts: gpu.Ints, digits: tuple[int, ...]
) -> None:
    """Digits of a tile of keys: L each key, an addition in shared memory for each of its digits.

    Then each thread adds a digit's counts of all passes to those of all tiles.  Registers are our
    choice.

    Takes `keys`, `counts` ([passes, digits]), `digits` (shifts of the passes).
    """
    start = k.bx * TILE + k.tid
    found = [k.load(keys, start + item * THREADS, _inside(k, keys, item)) for item in range(ITEMS)]
    k.wait()
    k.arithmetic(gpu.Unit.INTEGER, 2 * ITEMS * len(digits), 2)
    k.shared(2, times=ITEMS * len(digits))
    k.barrier()
    value = np.stack(found)
    there = np.stack([_inside(k, keys, item) for item in range(ITEMS)])
    own = value.reshape(ITEMS, k.blocks, THREADS).swapaxes(0, 1).reshape(k.blocks, -1)
    valid = there.reshape(ITEMS, k.blocks, THREADS).swapaxes(0, 1).reshape(k.blocks, -1)
    k.shared(1, times=len(digits))
    for number, shift in enumerate(digits):
        digit = own >> shift & DIGITS - 1
        added = [
            np.bincount(one[mask], minlength=DIGITS) for one, mask in zip(digit, valid, strict=True)
        ]
        count = np.concatenate(added).astype(np.int32)
        k.reduce_add(counts, number * DIGITS + k.tid.astype(np.int64), count)


def _inside(k: gpu.BlockTracer, keys: gpu.Ints, item: int) -> gpu.Mask:
    """Which threads have a key of a round."""
    inside: gpu.Mask = np.broadcast_to(
        k.bx * TILE + item * THREADS + k.tid < keys.length, k.threads
    )
    return inside


@gpu.kernel("onesweep", registers=64, block=THREADS, shared=4 * TILE + 8 * DIGITS, in_step=True)
def sweep(k: gpu.BlockTracer, of: Pass) -> gpu.Steps:
    """A tile: L its keys; ranks by eight votes each; counts of digits in shared memory.

    Each thread S its digit's count, L what the tile before it has (decoupled look-back, which finds
    the sum of all tiles before: our choice), S the sum, L where the digit begins.  Keys go to their
    ranks in shared memory, and from there S to their places.  Registers are our choice.
    """
    keys = []
    k.compute(gpu.PROLOGUE)
    for item in range(ITEMS):
        place = k.bx * TILE + item * THREADS + k.tid
        keys.append(k.load(of.source, place, _inside(k, of.source, item)))
    k.wait()
    k.arithmetic(gpu.Unit.INTEGER, 3 * DIGIT_BITS * ITEMS, DIGIT_BITS)
    k.shared(1, times=ITEMS)
    k.barrier()
    yield
    own = k.bx * DIGITS + k.tid
    k.store(of.status, own, 0)
    later = np.broadcast_to(k.bx > 0, k.threads)
    k.fetch(of.status, own - DIGITS, later)
    k.store(of.status, own, 0)
    k.fetch(of.first, k.tid.astype(np.int64))
    k.shared(1, times=2)
    k.barrier()
    k.shared(2, times=ITEMS)
    k.barrier()
    yield
    for item in range(ITEMS):
        where = _inside(k, of.source, item)
        place = k.bx * TILE + item * THREADS + k.tid
        k.shared(1, where)
        k.store(of.out, of.place[np.where(where, place, 0)], keys[item], where)


@gpu.program("radix_sort")
def radix_sort(
    memory: gpu.AddressSpace,
    seed: int,
    keys: int = gpu.number(1 << 22, 1, 1 << 30),
) -> gpu.Launches:
    """A least-significant-digit radix sort with one sweep over the keys for each digit.

    Adinets, Merrill, "Onesweep: A Faster Least Significant Digit Radix Sort for GPUs", 2022, and
    CUB's DeviceRadixSort: digits of eight bits, tiles of 256 threads.  Keys are uniform.  A key's
    place is that of the sorted array, whatever thread blocks were executed (`sample`); in a thread
    block keys are stored as they were loaded (there in the order of their ranks: a warp's stores
    are of fewer lines).  Five launches.

    Arrays in the order keys, other, counts, first, status.

    Parameters:
        keys: how many.
    """
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 1 << 31, keys, dtype=np.int32)
    one = memory.allocate("keys", values)
    other = memory.zeros("other", keys, np.int32)
    tiles = -(-keys // TILE)
    counts = memory.zeros("counts", PASSES * DIGITS, np.int32)
    first = memory.zeros("first", DIGITS, np.int32)
    status = memory.zeros("status", tiles * DIGITS, np.int32)
    shifts = tuple(range(0, 32, DIGIT_BITS))
    yield histogram[tiles, THREADS](one, counts, shifts)
    source, out = one, other
    for shift in shifts:
        order = np.argsort(values >> shift & DIGITS - 1, kind="stable")
        place = np.empty(keys, dtype=np.int64)
        place[order] = np.arange(keys)
        source.data[:] = values
        yield sweep[tiles, THREADS](Pass(source, out, status, first, place))
        values = values[order]
        source, out = out, source
