"""Listens to probes and writes what they announce into event tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

from gpusim.core.errors import UserError, nearest
from gpusim.core.mapping import ASID_SHIFT, VPN_MASK
from gpusim.core.request import MemoryRequest, resolve_trail
from gpusim.results.datasets import RECORDS
from gpusim.runs.writer import ResultWriter, TableWriter

if TYPE_CHECKING:
    from gpusim.hardware.sm.warp import WarpAccess


def check_records(names: Sequence[str]) -> None:
    """Refuse anything that cannot be recorded.

    Raises:
        UserError: with the nearest name and all that are allowed.
    """
    for name in names:
        if name not in RECORDS:
            raise UserError(
                f"cannot record {name!r}{nearest(name, RECORDS)}; allowed: {', '.join(RECORDS)}"
            )


class Recorder:
    """Tables of the records that were asked for, and a listener for the probe of each.

    Connect only what is in `records`::

        if "intervals" in recorder.records:
            machine.on_interval.listen(recorder.interval)

    Args:
        writer: where the tables go.
        names: any of `gpusim.results.datasets.RECORDS`.

    Attributes:
        records: the same, each once.
    """

    def __init__(self, writer: ResultWriter, names: Sequence[str]) -> None:
        self.records = tuple(name for name in RECORDS if name in names)
        self._tables: dict[str, TableWriter] = {
            table: writer.event_table(table) for name in self.records for table in RECORDS[name]
        }
        self._requests = 0
        self._stages = 0
        """Rows of these tables so far: asking the tables costs more than counting."""

    @property
    def interval(self) -> Callable[[int, int, int, int, int, int, int], None]:
        """Listener: SM, warp, slot, application, state, begin, end."""
        return self._tables["intervals"].append

    @property
    def walk(self) -> Callable[[int, int, int, int, int, int, int, int], None]:
        """Listener: ASID, VPN, SM, application, cycles requested, started and finished, levels."""
        return self._tables["walks"].append

    @property
    def walk_read(self) -> Callable[[int, int, int, int, int], None]:
        """Listener: ASID, VPN, depth, cycles in which the read began and ended."""
        return self._tables["walk_reads"].append

    @property
    def dram(self) -> Callable[[int, int, int, int, int, int, int, int, int], None]:
        """Listener: channel, bank, row, kind, application, depth; accepted, issued, finished."""
        return self._tables["dram"].append

    def request(self, request: MemoryRequest, begin: int, end: int) -> None:
        """Listener: a memory transaction that lived in the cycles ``[begin, end)``."""
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

    def tlb(self, level: int, instance: int, tag: int, hit: bool, cycle: int) -> None:
        """Listener: a lookup in a TLB."""
        self._tables["tlb"].append(level, instance, tag >> ASID_SHIFT, tag & VPN_MASK, hit, cycle)

    @property
    def epoch(self) -> Callable[[int, int, int, int, int, int, int, int], None]:
        """Listener: level, instance, application, end, hits, misses, warps, tokens."""
        return self._tables["epochs"].append

    @property
    def sharing(self) -> Callable[[int, int, int, int, int, int, int, int], None]:
        """Listener: level, instance, ASID, cycle, shares, reverts, conflicts, evictions."""
        return self._tables["sharing"].append

    @property
    def tlb_miss(self) -> Callable[[int, int, int, int, int, int, int], None]:
        """Listener: application, SM, ASID, virtual line, kind, place, cycle."""
        return self._tables["tlb_misses"].append

    @property
    def lifetime(self) -> Callable[[int, int, int, int, int, int], None]:
        """Listener: structure, instance, page or line, cycles of fill, last use and end."""
        return self._tables["lifetimes"].append

    @property
    def fault_batch(self) -> Callable[[int, int, int, int, int, int], None]:
        """Listener: cycles of begin and end, faults, pages asked for, that came, that left."""
        return self._tables["fault_batches"].append

    @property
    def transfer(self) -> Callable[[int, bool, int, int, int, int], None]:
        """Listener: application, whether to the host, bytes, cycles of begin, end and arrival."""
        return self._tables["transfers"].append

    def synonym_fault(self, cycle: int, app: int, line: int, leading: int) -> None:
        """Listener: a read-write synonym, with both tagged lines."""
        self._tables["synonym_faults"].append(
            cycle,
            app,
            line >> ASID_SHIFT,
            line & VPN_MASK,
            leading >> ASID_SHIFT,
            leading & VPN_MASK,
        )
