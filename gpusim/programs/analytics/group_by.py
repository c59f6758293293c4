"""group_by: values of a table's rows are summed up by key in a hash table."""

from __future__ import annotations

import numpy as np

from gpusim.programs import writing as gpu
from gpusim.programs.analytics.hash_join import EMPTY, HashTable, build, hashes, slots_of

THREADS = 128


@gpu.kernel("aggregate", registers=24, block=THREADS, in_step=True)
def aggregate(
    k: gpu.BlockTracer,
    rows: tuple[gpu.Ints, gpu.Longs],
    table: HashTable,
    totals: tuple[gpu.Longs, gpu.Ints],
) -> gpu.Steps:
    """A row a thread.

    L key, L value; the hash; then L slot by slot until it holds the key; there a reduction of the
    sum and one of the count.  Registers are our choice.

    Takes `rows` (keys and values), `table`, `totals` (a sum and a count for each slot).
    """
    keys, values = rows
    sums, counts = totals
    inside = gpu.threads_below(k, keys.length)
    key, value = k.load(keys, k.t, inside), k.load(values, k.t, inside)
    k.wait(0, inside)
    k.arithmetic(gpu.Unit.INTEGER, 3, 3, inside)
    slot = hashes(key, table.log2_slots)
    searching = inside
    while searching.any():
        there = k.fetch(table.keys, slot, searching)
        k.arithmetic(gpu.Unit.INTEGER, 3, 2, searching)
        searching = searching & (there != key)
        slot = slot + searching
        yield
    k.reduce_add(sums, slot, value, inside)
    k.reduce_add(counts, slot, 1, inside)


@gpu.program("group_by")
def group_by(
    memory: gpu.AddressSpace,
    seed: int,
    rows: int = gpu.number(1 << 22, 1, 1 << 30),
    groups: int = gpu.number(1 << 16, 1, 1 << 28),
    log2_slots: int = gpu.number(17, lambda groups: (groups - 1).bit_length(), 30),
) -> gpu.Launches:
    """SELECT key, SUM(value), COUNT(*) GROUP BY key, by one hash table of the whole GPU.

    Karnagel, Müller, Lohman, "Optimizing GPU-accelerated Group-By and Aggregation", ADMS 2015: a
    global hash table with atomics, the better one of theirs for many groups.  Linear probing as in
    hash_join, half of the slots filled; a first launch puts the groups' keys in, so that the second
    finds them, in a run of some thread blocks (`sample`), too.  Keys of rows are uniform.

    Arrays in the order group_keys, group_numbers, keys, values, table_keys (empty), table_numbers,
    sums, counts.

    Parameters:
        rows: of the table.
        groups: different keys.
        log2_slots: logarithm of the slots of the hash table.
    """
    rng = np.random.default_rng(seed)
    own = rng.permutation(np.arange(groups, dtype=np.int64) * 7 + rng.integers(0, 7, groups))
    own = own.astype(np.int32)
    group_keys = memory.read_only("group_keys", own)
    numbers = memory.read_only("group_numbers", np.arange(groups, dtype=np.int32))
    keys = memory.read_only("keys", own[rng.integers(0, groups, rows)])
    values = memory.read_only("values", rng.integers(0, 1000, rows))
    slots = slots_of(own, log2_slots)
    length = max(1 << log2_slots, int(slots.max()) + 1) + 1
    table_keys = memory.allocate("table_keys", np.full(length, EMPTY, dtype=np.int32))
    table_numbers = memory.zeros("table_numbers", length, np.int32)
    sums = memory.zeros("sums", length, np.int64)
    counts = memory.zeros("counts", length, np.int32)
    table = HashTable(table_keys, table_numbers, log2_slots)
    yield build[groups]((group_keys, numbers), table, slots)
    table_keys.data[slots], table_numbers.data[slots] = group_keys.data, numbers.data
    yield aggregate[rows]((keys, values), table, (sums, counts))
