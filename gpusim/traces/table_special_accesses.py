"""Accesses of a tabular trace that go past the L1 cache: scalar loads and code; read on demand."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from gpusim.core.warp_program import SECTOR_BYTES
from gpusim.traces.table_columns import DISPATCH, SCALAR_ACCESSES, SCALARS, TableFile
from gpusim.traces.table_program import ScalarAccess

Ints = NDArray[np.int64]


class TableBeside:
    """Scalar accesses, and when launches really began.

    Args:
        file: the table.
        wave: of each scalar transaction, by the numbers of `gpusim.traces.table_index`.
        launch: of each of them.
        first: by launch, the time of its first vector access; empty: times are not needed.

    Attributes:
        lead: by launch, how much earlier it began; empty without times.

    Raises:
        UserError: a column is not what it has to be.
    """

    def __init__(self, file: TableFile, wave: Ints, launch: Ints, first: Ints) -> None:
        rows = file.group((*SCALARS, *SCALAR_ACCESSES)) if len(wave) else {}
        empty = np.zeros(0, dtype=np.int64)
        addressed = "s_vaddr" in rows and "s_bytes" in rows
        self._index = rows["s_inst_idx"].astype(np.int64) if addressed else empty
        self._wave = wave if addressed else empty
        begin = rows["s_vaddr"].astype(np.int64) if addressed else empty
        last = begin + np.maximum(rows["s_bytes"].astype(np.int64), 1) - 1 if addressed else empty
        self._sector, self._last = begin // SECTOR_BYTES, last // SECTOR_BYTES
        time = np.zeros(len(self._wave), dtype=np.int64)
        self.lead = empty
        if len(first):
            if addressed and "s_issue_time" in rows:
                time = rows["s_issue_time"].astype(np.int64) - first[launch]
            self.lead = _lead(file, first, launch[: len(time)], time)
        self._time = time
        by = np.lexsort((self._index, self._wave))
        for name in ("_wave", "_index", "_sector", "_last", "_time"):
            setattr(self, name, getattr(self, name)[by])

    def scalars(self, wave: int) -> Mapping[int, ScalarAccess]:
        """The scalar accesses of a wavefront by place in its program, times since `first`."""
        begin, end = np.searchsorted(self._wave, (wave, wave + 1))
        found: dict[int, ScalarAccess] = {}
        for row in range(int(begin), int(end)):
            index = int(self._index[row])
            sectors = np.arange(self._sector[row], self._last[row] + 1) * SECTOR_BYTES
            if index in found:
                time, before = found[index]
                found[index] = time, np.concatenate((before, sectors))
            else:
                found[index] = int(self._time[row]), sectors
        return found


def _lead(file: TableFile, first: Ints, launch: Ints, time: Ints) -> Ints:
    """By how much each launch began before its first vector access: with a wavefront, or a load."""
    begin = np.zeros(len(first), dtype=np.int64)
    np.minimum.at(begin, launch, time)
    waves = file.group(DISPATCH)
    if len(waves) == len(DISPATCH):
        own = waves["wf_kernel"].astype(np.int64)
        known = own < len(first)
        since = waves["wf_dispatch_time"].astype(np.int64)[known] - first[own[known]]
        np.minimum.at(begin, own[known], since)
    return -begin
