"""The lines that an L1 cache holds, and the places reserved for lines under way."""

from __future__ import annotations

from gpusim.config.schema import L1Config
from gpusim.core.engine import EventLoop
from gpusim.hardware.cache.leading_names import NOT_KEPT, LeadingNames
from gpusim.hardware.cache.line_signals import LineSignals
from gpusim.hardware.cache.renamed_arrays import l1_array
from gpusim.hardware.cache.reservations import Reservations


class HeldLines:
    """An array of lines, of which all that come and go are announced.

    Args:
        env: the clock of the machine.
        config: the cache.
        leading: is notified which lines are held; None: the L2 cache is physical.

    Attributes:
        array: the lines.
        signals: what becomes of them.
    """

    def __init__(self, env: EventLoop, config: L1Config, leading: LeadingNames | None) -> None:
        self.array = l1_array(config)
        self.signals = LineSignals()
        self.reserved = Reservations(self.array.sets) if config.allocate == "on-miss" else None
        self._env = env
        self._leading = leading
        self._announced = leading is not None or self.reserved is not None

    def keep(self, line: int, sectors: int) -> bool:
        """Take in sectors of a line, for which another one may go; False: there is no place."""
        if self._announced and not self.array.state(line) and not self._come(line):
            return False
        gone, left = self.array.fill(line, sectors)
        if left and (self._announced or self.signals.evict.listeners):
            self._went(gone)
        if self.signals.fill.listeners:
            self.signals.fill(line, self._env._now)
        return True

    def _come(self, line: int) -> bool:
        """A line that is not here comes in, to its reserved place if it has one."""
        reserved = self.reserved
        if reserved is not None and not reserved.release(self.array, line):
            if reserved.all_reserved(self.array, line):
                return False
            self._make_room(reserved, line)
        if self._leading is not None:
            self._leading.came(line)
        return True

    def reserve(self, line: int) -> None:
        """Give a line that is missed its place, for which another one may go at once."""
        assert self.reserved is not None
        self._make_room(self.reserved, line)
        self.reserved.reserve(self.array, line)

    def arrives(self, line: int, name: int) -> bool:
        """Whether what was missed as `line` is to be kept, as `name` (`NOT_KEPT`: it is not)."""
        reserved = self.reserved
        if reserved is not None and not reserved.release(self.array, line):
            # Another sector of it was here when this one was missed; it may have been evicted.
            return name != NOT_KEPT and self.array.state(name) != 0
        return name != NOT_KEPT

    def remove(self, line: int) -> None:
        """Forget a line, if it is here."""
        if not self.array.remove(line):
            return
        if self._leading is not None:
            self._leading.went(line)
        if self.signals.invalidate.listeners:
            self.signals.invalidate(line, self._env._now)

    def clear(self) -> None:
        """Forget all lines; places that are reserved stay so."""
        if self.signals.invalidate.listeners:
            for line in self.array.lines():
                self.signals.invalidate(line, self._env._now)
        self.array.clear()
        if self._leading is not None:
            self._leading.filter.clear()

    def _make_room(self, reserved: Reservations, line: int) -> None:
        """Evict a line from the set of `line` if lines and reserved places fill it."""
        if reserved.full(self.array, line):
            self._went(self.array.evict(line)[0])

    def _went(self, line: int) -> None:
        """A line was evicted."""
        if self._leading is not None:
            self._leading.went(line)
        if self.signals.evict.listeners:
            self.signals.evict(line, self._env._now)
