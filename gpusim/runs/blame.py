"""What each array, and each line of code, costs: counted while the machine runs."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING

from attrs import astuple, define

from gpusim.core.code_places import NO_PLACE
from gpusim.core.cut import KeptPieces
from gpusim.core.mapping import ASID_SHIFT, VPN_MASK
from gpusim.core.request import Kind, MemoryRequest
from gpusim.core.unboxed import between
from gpusim.core.warp_program import SECTOR_BYTES, Buffer
from gpusim.machine import Machine
from gpusim.traces.application import TraceApplication

if TYPE_CHECKING:
    from gpusim.core.request import Access
    from gpusim.hardware.dram import Completion
    from gpusim.hardware.sm.warp import WarpAccess
    from gpusim.hardware.walk import Walk

NO_ARRAY = -1
"""Of an address that lies in no array that the program names."""

_TRANSLATION = "translation"


@define
class Blamed:
    """What one place in the code has cost in one array; columns of the table ``blame``."""

    requests: int = 0
    tlb_misses: int = 0
    walks: int = 0
    walk_cycles: int = 0
    stall_cycles: int = 0
    translation_cycles: int = 0
    dram_bytes: int = 0
    table_bytes: int = 0


class _Arrays:
    """The arrays of one application.

    Args:
        buffers: in order of allocation.
        first: number of the first of them, over all applications.
    """

    def __init__(self, buffers: tuple[Buffer, ...], first: int) -> None:
        ordered = sorted(enumerate(buffers, first), key=lambda one: one[1].base)
        self._numbers = [number for number, _ in ordered]
        self._buffers = [buffer for _, buffer in ordered]

    def at(self, address: int) -> int:
        """The number of the array in which a byte lies."""
        place = bisect_right(self._buffers, address, key=attrgetter("base")) - 1
        if place < 0:
            return NO_ARRAY
        found = self._buffers[place]
        return self._numbers[place] if address < found.base + found.bytes else NO_ARRAY


def watch(machine: Machine, record: Callable[..., None]) -> Callable[[], None]:
    """Count what each array, and each place in the code, costs.

    Programs that know the places of their accesses in the code are asked for them.

    Args:
        machine: before its first cycle.
        record: gets application, array, place (`NO_ARRAY`, `NO_PLACE`: not known), and the numbers
            of `Blamed`.

    Returns:
        what to call at the end of the run.
    """
    watcher = _Watcher(machine)
    for sm in machine.sms:
        sm.asks_places = True
        sm.on_wait.listen(watcher.waited)
    for tlb in next(iter(machine.tlbs.values()), ()):
        tlb.on_request_miss.listen(watcher.missed)
    listeners: dict[str, Callable[..., None]] = {
        "requests": watcher.requested,
        "walks": watcher.walked,
        "dram": watcher.moved,
    }
    for name, probe in machine.recordable():
        if name in listeners:
            probe.listen(listeners[name])

    def finish() -> None:
        for (app, array, place), blamed in watcher.finished():
            record(app, array, place, *astuple(blamed))

    return finish


class _Watcher:
    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        config = machine.config
        self._line_shift = int(config.l1.line).bit_length() - 1
        self._page_shift = int(config.memory.page).bit_length() - 1
        self._translation = frozenset(
            state for state, family in enumerate(machine.families) if family == _TRANSLATION
        )
        self._arrays: list[_Arrays] = []
        self._app_of = {}
        first = 0
        for app, tenant in enumerate(machine.tenants):
            buffers = tenant.application.buffers
            self._arrays.append(_Arrays(buffers, first))
            self._app_of[machine.schedulers[app].asid] = app
            first += len(buffers)
        self._found: dict[tuple[int, int, int], Blamed] = {}
        self._written: dict[tuple[int, int], int] = {}
        """Bytes written back, by application and physical page."""

    def _blamed(self, app: int, address: int, place: int) -> Blamed:
        key = app, self._arrays[app].at(address), place
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = Blamed()
        return found

    def _of_request(self, request: MemoryRequest) -> Blamed:
        place = NO_PLACE if request.access is None else request.access.place
        return self._blamed(request.app, request.vline << self._line_shift, place)

    # -- what probes announce ----------------------------------------------------------------------

    def requested(self, request: MemoryRequest, begin: int, end: int) -> None:
        """A transaction that did not hit at once has been answered."""
        self._of_request(request).requests += 1

    def missed(self, request: MemoryRequest) -> None:
        """A transaction missed in its first TLB."""
        self._of_request(request).tlb_misses += 1

    def walked(self, walk: Walk, end: int) -> None:
        """A page walk has ended."""
        asked = walk.translation
        address = asked.vpn << self._page_shift
        place = NO_PLACE
        if asked.access is not None:
            place = asked.access.place
            address = self._address_in_page(asked.access, asked.vpn)
        blamed = self._blamed(asked.app, address, place)
        blamed.walks += 1
        blamed.walk_cycles += end - walk.requested

    def _address_in_page(self, access: Access, vpn: int) -> int:
        """What an access touches in a page: one page may hold several arrays."""
        shift = self._page_shift - self._line_shift
        known: WarpAccess = access  # type: ignore[assignment]
        for line in between(known.lines, known.first, known.end):
            if line >> shift == vpn:
                return line << self._line_shift
        return vpn << self._page_shift

    def waited(self, access: WarpAccess, begin: int, end: int) -> None:
        """A warp has waited for an access, of which this transaction was the last."""
        cause = access.cause
        if cause is None:
            blamed = self._blamed(
                access.app, access.lines[access.first] << self._line_shift, access.place
            )
        elif isinstance(cause, MemoryRequest):
            blamed = self._of_request(cause)
        else:
            return  # shared memory
        blamed.stall_cycles += end - begin
        kept = KeptPieces()
        access.finished_by(access.lsu.history).cut(begin, end, kept)
        blamed.translation_cycles += sum(
            last - first for state, first, last in kept.pieces if state in self._translation
        )

    def moved(self, done: Completion) -> None:
        """DRAM has read or written something."""
        request = done.request
        size = done.sectors.bit_count() * SECTOR_BYTES
        if request.kind == Kind.WRITEBACK:
            key = request.app, request.address >> self._page_shift
            self._written[key] = self._written.get(key, 0) + size
            return
        place = NO_PLACE if request.access is None else request.access.place
        page = (request.tag & VPN_MASK) << self._page_shift
        if request.depth > 0:
            self._blamed(request.app, page, place).table_bytes += size
            return
        offset = request.address & (1 << self._page_shift) - 1
        self._blamed(request.app, page | offset, place).dram_bytes += size

    # -- at the end --------------------------------------------------------------------------------

    def finished(self) -> list[tuple[tuple[int, int, int], Blamed]]:
        """All that was counted, by application, array and place, these over all applications."""
        pages = self._machine.page_table.pages_of_frames() if self._written else {}
        for (app, frame), size in self._written.items():
            tag = pages.get(frame)
            address = -1
            if tag is not None:
                app = self._app_of.get(tag >> ASID_SHIFT, app)  # noqa: PLW2901 (its owner)
                address = (tag & VPN_MASK) << self._page_shift
            self._blamed(app, address, NO_PLACE).dram_bytes += size
        firsts = [0]
        for tenant in self._machine.tenants:
            application = tenant.application
            own = len(application.places) if isinstance(application, TraceApplication) else 0
            firsts.append(firsts[-1] + own)
        return [
            ((app, array, place if place < 0 else place + firsts[app]), blamed)
            for (app, array, place), blamed in sorted(self._found.items())
        ]
