"""Where pages lie, as what is executed without a clock finds them, on one GPU or several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gpusim.core.mapping import ASID_SHIFT, Mapping
from gpusim.hardware.sm.untimed.warm_up import PlacedPages
from gpusim.hardware.walk import NodeTable, PageTable
from gpusim.machine import Machine, Tenant

if TYPE_CHECKING:
    from gpusim.hardware.node import PageMoves

Ints = NDArray[np.int64]


def placed_pages(machine: Machine, tenant: Tenant) -> PlacedPages:
    """Where pages of an application lie, and what its uses of them bring with them."""
    tables = [machine.system_of[sm].walkers.table for sm in tenant.sms]
    if machine.node is None or machine.node.far is None:
        return _Tables(tables)
    assert isinstance(machine.page_table, NodeTable)
    gpus = [machine.system_of[sm].domain.index for sm in tenant.sms]
    return _AskedPages(machine.page_table, machine.node.far.moves, gpus)


class _Tables:
    """Pages of tables that know each page at once.

    Args:
        tables: by position of an SM, what its walkers walk.
    """

    def __init__(self, tables: Sequence[PageTable]) -> None:
        self._tables = tables

    def touch(self, asid: int, page: int, place: int) -> Mapping:
        return self._tables[place].walk(asid, page).mapping

    def settle(self, asid: int, pages: Ints, places: Ints) -> None:
        return None


class _AskedPages:
    """Pages that GPUs ask a host for, which may move them.

    Args:
        table: knows all pages.
        moves: resolves what GPUs ask for.
        gpus: by position of an SM, its GPU.
    """

    def __init__(self, table: NodeTable, moves: PageMoves, gpus: Sequence[int]) -> None:
        self._table = table
        self._moves = moves
        self._gpus = gpus

    def touch(self, asid: int, page: int, place: int) -> Mapping:
        return self._table.touch(asid << ASID_SHIFT | page, self._gpus[place])

    def settle(self, asid: int, pages: Ints, places: Ints) -> NDArray[np.bool_]:
        tags = (pages | asid << ASID_SHIFT).tolist()
        gpus = [self._gpus[place] for place in places.tolist()]
        for tag, gpu in zip(tags, gpus, strict=True):
            self._moves.settle(tag, gpu)
        kept = [self._moves.known.is_held(tag, gpu) for tag, gpu in zip(tags, gpus, strict=True)]
        return np.array(kept, dtype=bool)
