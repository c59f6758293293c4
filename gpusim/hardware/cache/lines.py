"""The lines of an L2 bank, sector by sector; a line that is always fetched whole is one sector.

A load, an atomic or a page-table read needs sectors that can be read.  Where lines are `sectored`,
a store needs nothing: it takes its sectors at once, and those of which it writes only some bytes
can be written again, but not read, until a load fetches them: the "lazy fetch on read" of
Accel-Sim's L2 caches (M. Khairy et al., "Accel-Sim: An Extensible Simulation Framework for
Validated GPU Modeling", ISCA 2020).  A sector that two stores write in halves counts as written
in part, unless byte masks are kept (`gpusim.hardware.cache.written_bytes`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from gpusim.config.schema import L2Config
from gpusim.core.engine import EventLoop
from gpusim.core.request import Kind
from gpusim.core.state_sets import Gone
from gpusim.core.unboxed import IntDict
from gpusim.core.warp_program import COVERED_SHIFT, SECTOR_BYTES, SECTORS
from gpusim.hardware.cache.array import DIRTY, DIRTY_SHIFT, CacheArray
from gpusim.hardware.cache.line_signals import LineSignals
from gpusim.hardware.cache.partition import arrays_of
from gpusim.hardware.cache.written_bytes import WrittenBytes

_LOAD: Final = int(Kind.LOAD)
_STORE: Final = int(Kind.STORE)
_WALK: Final = int(Kind.WALK)

SECTOR_SHIFT: Final = SECTOR_BYTES.bit_length() - 1

Line = tuple[int, int]
"""The name of a line, and its state."""


class Lines:
    """Which sectors of which lines a bank has, and which of them are dirty.

    Args:
        env: the clock of the machine.
        config: the cache.
        apps: indices of the applications that share the bank.
        counted: number of applications of the machine, for counters.

    Attributes:
        arrays: by application, the lines that it may use.
        shift: bytes of a line, as a power of two.
        offset: mask of the bits of an address within its line.
        whole: mask of all 32-byte sectors of a line.
        sectored: whether lines are fetched and written back in parts, and stores fetch nothing.
        touched: by mask of 32-byte sectors, the bank's own (larger) sectors in which they lie.
        written: bytes that stores write; None: they are not followed.
        signals: what becomes of lines.
    """

    def __init__(self, env: EventLoop, config: L2Config, apps: Sequence[int], counted: int) -> None:
        self._env = env
        self.signals = LineSignals()
        self.arrays: IntDict[CacheArray] = IntDict()
        for app, array in arrays_of(config, apps).items():
            self.arrays[app] = array
        self.shift = config.line.bit_length() - 1
        self.offset = (1 << self.shift) - 1
        self.whole = (1 << config.line // SECTOR_BYTES) - 1
        self.sectored = config.sectored
        sector = int(config.sector) if config.sectored and config.sector else int(config.line)
        self.touched, self._covered = _tables(sector // SECTOR_BYTES)
        masked = config.byte_masks is True
        self.written = WrittenBytes(counted, self._covered) if masked else None

    def wanted(self, address: int, sectors: int) -> int:
        """The sectors of its line that a request of this address and these sectors touches."""
        return self.touched[(sectors & SECTORS) << ((address & self.offset) >> SECTOR_SHIFT)]

    def lacks(self, name: int, wanted: int, app: int) -> int:
        """The wanted sectors that a store does not find; it also finds such as cannot be read."""
        state = self.arrays[app].state(name)
        return wanted & ~(state | state >> DIRTY_SHIFT)

    def stored(self, name: int, address: int, sectors: int, app: int) -> int:
        """What a store that fetches nothing adds to the state of its line.

        Args:
            name: of the line.
            address: at which the store's masks begin.
            sectors: these masks, as `MemoryRequest.sectors`.
            app: index of the application.
        """
        place = (address & self.offset) >> SECTOR_SHIFT
        if self.written is None:
            covered = self._covered[(sectors >> COVERED_SHIFT & SECTORS) << place]
        else:
            state = self.arrays[app].state(name)
            covered = self.written.store(name, state, sectors, place, app)
        return covered | self.touched[(sectors & SECTORS) << place] << DIRTY_SHIFT

    def keep(self, name: int, state: int, app: int) -> Gone:
        """Add to the state of a line; returns the line that made room for it, if one did."""
        victim = self.arrays[app].fill(name, state)
        if self.written is not None:
            self.written.came(name, state & SECTORS)
        signals = self.signals
        if signals.fill.listeners:
            signals.fill(name, self._env._now)
        if victim[1] and signals.evict.listeners:
            signals.evict(victim[0], self._env._now)
        return victim

    def remove(self, name: int, app: int) -> int:
        """Take a line out; returns its state, 0 if it is not there."""
        return self._remove(self.arrays[app], name)

    def remove_of_all(self, name: int) -> None:
        """Take a line out, whichever application has it."""
        for array in dict.fromkeys(self.arrays.values()):
            self._remove(array, name)

    def remove_where(self, leaves: Callable[[int], bool]) -> int:
        """Take out the lines for which this holds; returns how many there were."""
        found = 0
        for array in dict.fromkeys(self.arrays.values()):
            gone = [name for name in array.lines() if leaves(name)]
            for name in gone:
                self._remove(array, name)
            found += len(gone)
        return found

    def _remove(self, array: CacheArray, name: int) -> int:
        state = array.remove(name)
        if state and self.signals.invalidate.listeners:
            self.signals.invalidate(name, self._env._now)
        return state

    def dirty(self, line: Line) -> int:
        """What has to be written back of a line that is gone: a mask as `MemoryRequest.sectors`.

        Where bytes are followed, dirty sectors that cannot be read are marked as partly written.
        """
        name, state = line
        dirty = (state & DIRTY) >> DIRTY_SHIFT
        if self.written is None:
            return dirty
        self.written.forget(name)
        return dirty | (dirty & ~state) << COVERED_SHIFT

    def warm(self, address: int, sectors: int, kind: int, app: int) -> int:
        """An access without a clock: its sectors are here afterwards; victims are forgotten.

        Returns:
            the sectors of the line that had to be fetched.
        """
        name, array = address >> self.shift, self.arrays[app]
        if self.sectored and kind == _STORE:
            self._warm_fill(name, self.stored(name, address, sectors, app), app)
            return 0
        wanted = self.wanted(address, sectors)
        if self.written is None:
            missing = array.use(name, wanted, wanted)
        else:
            missing = array.missing(name, wanted)
            if missing:
                self._warm_fill(name, wanted, app)
        if kind != _LOAD and kind != _WALK:
            array.mark(name, wanted << DIRTY_SHIFT)
        return missing

    def _warm_fill(self, name: int, state: int, app: int) -> None:
        victim = self.arrays[app].fill(name, state)
        if self.written is not None:
            self.written.came(name, state & SECTORS)
            if victim[1]:
                self.written.forget(victim[0])


_TABLES: dict[int, tuple[list[int], list[int]]] = {}


def _tables(width: int) -> tuple[list[int], list[int]]:
    """By mask of 32-byte sectors, the groups of `width` sectors that it touches, and that it fills.

    All banks with groups of one width share the tables, which are never changed.
    """
    if width not in _TABLES:
        group = (1 << width) - 1
        groups = [group << first for first in range(0, COVERED_SHIFT, width)]
        masks = range(SECTORS + 1)
        touched = [sum([one for one in groups if one & mask]) for mask in masks]
        covered = [sum([one for one in groups if not one & ~mask]) for mask in masks]
        _TABLES[width] = touched, covered
    return _TABLES[width]
