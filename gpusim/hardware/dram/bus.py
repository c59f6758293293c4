"""The command bus of a channel."""

from __future__ import annotations


class CommandBus:
    """One command bus for all commands, or one for row commands and one for column accesses.

    Args:
        row_bus: whether row commands (activations, precharges, refreshes) have a bus of their own.

    Attributes:
        row_ok, column_ok: first clocks in which a row command and a column access may begin.
    """

    __slots__ = ("_row_bus", "column_ok", "row_ok")

    def __init__(self, row_bus: bool) -> None:
        self._row_bus = row_bus
        self.row_ok = self.column_ok = 0

    def hold(self, until: int) -> None:
        """Nothing begins before clock `until`."""
        if self.row_ok < until:
            self.row_ok = until
        if self.column_ok < until:
            self.column_ok = until

    def take_row(self, clock: int, clocks: int = 1) -> None:
        """A row command of `clocks` begins; no column access goes in `clock` any more."""
        self.row_ok = clock + clocks
        self.column_ok = clock + (1 if self._row_bus else clocks)

    def take_column(self, clock: int) -> None:
        """A column access goes in `clock`; with two buses, a row command may, too."""
        self.column_ok = clock + 1
        if not self._row_bus:
            self.row_ok = clock + 1
