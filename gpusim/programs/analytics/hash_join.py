"""hash_join: rows of a large table look for theirs in a small one's hash table."""

from __future__ import annotations

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.programs import writing as gpu

THREADS = 128
EMPTY = -1
"""In a slot: no key."""
_FACTOR = 2_654_435_761
"""Of multiplicative hashing: 2^32 divided by the golden ratio."""


@frozen
class HashTable:
    """Linear probing: a key lies in the first slot from its hash on that was free.

    Attributes:
        keys, values: [slots + longest run] of the smaller table's rows.
        log2_slots: logarithm of the slots that hashes name.
    """

    keys: gpu.Ints
    values: gpu.Ints
    log2_slots: int


def hashes(keys: NDArray[np.int32], log2_slots: int) -> NDArray[np.int64]:
    """The slot where the search for each key begins."""
    mixed = (keys.astype(np.uint64) * np.uint64(_FACTOR)) & np.uint64(0xFFFF_FFFF)
    return (mixed >> np.uint64(32 - log2_slots)).astype(np.int64)


def slots_of(keys: NDArray[np.int32], log2_slots: int) -> NDArray[np.int64]:
    """The slot of each key, as linear probing has it for keys that come in the order of hashes."""
    begin = hashes(keys, log2_slots)
    order = np.argsort(begin, kind="stable")
    count = np.arange(len(keys))
    slots = np.empty(len(keys), dtype=np.int64)
    slots[order] = np.maximum.accumulate(begin[order] - count) + count
    return slots


@gpu.kernel("build", registers=24, block=THREADS, in_step=True)
def build(
    k: gpu.BlockTracer, rows: tuple[gpu.Ints, gpu.Ints], table: HashTable, slots: NDArray[np.int64]
) -> gpu.Steps:
    """A row of the smaller table a thread.

    L key, L value; the hash; then slot by slot an atomic compare-and-swap (recorded as an addition
    of nothing) until the key has its own; S key, S value.  Registers are our choice.

    Takes `rows` (keys and values), `table`, `slots` (of each row, its own).
    """
    keys, values = rows
    inside = gpu.threads_below(k, keys.length)
    key, value = k.load(keys, k.t, inside), k.load(values, k.t, inside)
    k.wait(0, inside)
    k.arithmetic(gpu.Unit.INTEGER, 3, 3, inside)
    own = np.where(inside, slots[np.where(inside, k.t, 0)], -1)
    for slot, where in gpu.strides(hashes(key, table.log2_slots), own + 1):
        k.atomic_add(table.keys, slot, 0, where)
        k.wait(0, where)
        k.arithmetic(gpu.Unit.INTEGER, 3, 2, where)
        yield
    k.store(table.keys, own, key, inside)
    k.store(table.values, own, value, inside)


@gpu.kernel("probe", registers=24, block=THREADS, in_step=True)
def probe(k: gpu.BlockTracer, keys: gpu.Ints, table: HashTable, found: gpu.Ints) -> gpu.Steps:
    """A row of the larger table a thread.

    L key; the hash; then L slot by slot, until it holds the key or none; where it does, L value.
    S value, or -1.  Registers are our choice.

    Takes `keys`, `table`, `found` (a value for each key).
    """
    inside = gpu.threads_below(k, keys.length)
    key = k.fetch(keys, k.t, inside)
    k.arithmetic(gpu.Unit.INTEGER, 3, 3, inside)
    slot = hashes(key, table.log2_slots)
    value = np.full(k.threads, EMPTY, dtype=np.int32)
    searching = inside
    while searching.any():
        there = k.fetch(table.keys, slot, searching)
        k.arithmetic(gpu.Unit.INTEGER, 4, 2, searching)
        equal = searching & (there == key)
        got = k.fetch(table.values, slot, equal)
        value = np.where(equal, got, value)
        searching = searching & ~equal & (there != EMPTY)
        slot = slot + searching
        yield
    k.store(found, k.t, value, inside)


@gpu.program("hash_join")
def hash_join(
    memory: gpu.AddressSpace,
    seed: int,
    build_rows: int = gpu.number(1 << 20, 1, 1 << 28),
    probe_rows: int = gpu.number(1 << 22, 1, 1 << 30),
    log2_slots: int = gpu.number(21, lambda build_rows: (build_rows - 1).bit_length(), 30),
) -> gpu.Launches:
    """A join without partitions: build a hash table of one table's rows, probe it with another's.

    Shanbhag, Madden, Yu, "A Study of the Fundamental Performance Characteristics of GPUs and CPUs
    for Database Analytics", SIGMOD 2020 (Crystal): linear probing, keys and values of 4 bytes, half
    of the slots filled.  Keys of the smaller table are different random numbers; each of the larger
    one's is one of them.  Two launches; the second finds the table whole, in a run of some thread
    blocks (`sample`), too.

    Arrays in the order build_keys, build_values, probe_keys, table_keys (empty), table_values,
    found.

    Parameters:
        build_rows, probe_rows: rows of the smaller and of the larger table.
        log2_slots: logarithm of the slots of the hash table.
    """
    rng = np.random.default_rng(seed)
    numbers = np.arange(build_rows, dtype=np.int64) * 7 + rng.integers(0, 7, build_rows)
    own = rng.permutation(numbers).astype(np.int32)
    keys = memory.read_only("build_keys", own)
    values = memory.read_only("build_values", rng.permutation(build_rows).astype(np.int32))
    wanted = own[rng.integers(0, build_rows, probe_rows)]
    searched = memory.read_only("probe_keys", wanted)
    slots = slots_of(own, log2_slots)
    length = max(1 << log2_slots, int(slots.max()) + 1) + 1
    table_keys = memory.allocate("table_keys", np.full(length, EMPTY, dtype=np.int32))
    table_values = memory.zeros("table_values", length, np.int32)
    found = memory.zeros("found", probe_rows, np.int32)
    table = HashTable(table_keys, table_values, log2_slots)
    yield build[build_rows]((keys, values), table, slots)
    table_keys.data[slots], table_values.data[slots] = keys.data, values.data
    yield probe[probe_rows](searched, table, found)
