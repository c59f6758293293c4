"""Listens to probes and writes what they announce into event tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from gpusim.core.mapping import ASID_SHIFT, VPN_MASK
from gpusim.core.request import MemoryRequest, resolve_trail
from gpusim.results.event_tables import RECORDS, check_records
from gpusim.runs.writer import ResultWriter, TableWriter

if TYPE_CHECKING:
    from gpusim.hardware.dram import Completion
    from gpusim.hardware.sm.warp import WarpAccess
    from gpusim.hardware.walk import Walk


class Recorder:
    """Tables of the records that were asked for, and a listener for each.

    Args:
        writer: where the tables go.
        names: any of `gpusim.results.event_tables.RECORDS`.

    Attributes:
        records: the same, each once.

    Raises:
        UserError: there is no such record.
    """

    def __init__(self, writer: ResultWriter, names: Sequence[str]) -> None:
        check_records(names)
        self.records = tuple(name for name in RECORDS if name in names)
        self._tables: dict[str, TableWriter] = {
            table: writer.event_table(table) for name in self.records for table in RECORDS[name]
        }
        self._requests = 0
        self._stages = 0
        """Rows of these tables so far: asking the tables costs more than counting."""

    def listener(self, name: str) -> Callable[..., None]:
        """What writes a row of a record that was asked for.

        It is called with what the probe of that name announces: the columns of the table, but for
        the records below, of which it makes them.
        """
        makers: Mapping[str, Callable[..., None]] = {
            "requests": self._request,
            "walks": self._walk,
            "dram": self._dram,
            "tlb": self._tlb_lookup,
            "synonym_faults": self._synonym_fault,
        }
        return makers.get(name) or self._tables[name].append

    def _request(self, request: MemoryRequest, begin: int, end: int) -> None:
        """A memory transaction that lived in the cycles ``[begin, end)``."""
        access = cast("WarpAccess | None", request.access)
        pieces = resolve_trail(request, begin, end)
        self._tables["requests"].append(
            request.app,
            request.sm,
            -1 if access is None else access.warp.uid,
            request.kind,
            request.vline,
            begin,
            end,
            self._stages,
        )
        self._tables["stages"].append_pieces(self._requests, pieces)
        self._requests += 1
        self._stages += len(pieces)

    def _walk(self, walk: Walk, end: int) -> None:
        """A page walk that ended in cycle `end`."""
        asked = walk.translation
        self._tables["walks"].append(
            asked.asid,
            asked.vpn,
            asked.sm,
            asked.app,
            walk.requested,
            walk.started,
            end,
            walk.read,
        )

    def _dram(self, done: Completion) -> None:
        """A request whose data DRAM has read or written."""
        self._tables["dram"].append(
            done.channel,
            done.bank,
            done.row,
            done.kind,
            done.app,
            done.depth,
            done.accepted,
            done.issued,
            done.finished,
            done.address,
            done.sectors,
        )

    def _tlb_lookup(self, level: int, instance: int, tag: int, hit: bool, cycle: int) -> None:
        """A lookup of a tagged page in a TLB."""
        self._tables["tlb"].append(level, instance, tag >> ASID_SHIFT, tag & VPN_MASK, hit, cycle)

    def _synonym_fault(self, cycle: int, app: int, line: int, leading: int) -> None:
        """A read-write synonym, with both tagged lines."""
        self._tables["synonym_faults"].append(
            cycle,
            app,
            line >> ASID_SHIFT,
            line & VPN_MASK,
            leading >> ASID_SHIFT,
            leading & VPN_MASK,
        )
