"""What is read of a machine whose memory side runs in another process.

Each process has the whole machine, of which one side stands still.  So counters are those of both
together, and what a component of the memory side holds, or warns of, is asked there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from gpusim.core.component import Component
from gpusim.core.counters import CounterRow, is_largest

if TYPE_CHECKING:
    from gpusim.machine.machine import Machine

Ask = Callable[..., Any]
"""Asks the other process: name of a reading, and what it takes."""


class MemoryApart:
    """The memory side of a machine, as the process of the SMs' side reads it.

    Args:
        machine: before its first cycle.
        ask: asks the other process.
    """

    def __init__(self, machine: Machine, ask: Ask) -> None:
        self.ask = ask
        self._machine = machine
        self._before = _values(machine)
        """Of all counters before the first cycle, which both processes have."""

    def counter_rows(self) -> Iterator[CounterRow]:
        """All counters of all components."""
        rows = self._machine.own_counter_rows()
        there = self.ask("counters")
        for row, value, before in zip(rows, there, self._before, strict=True):
            whole = max(row.value, value) if is_largest(row.name) else row.value + value - before
            yield row._replace(value=whole)

    def unfinished(self) -> Iterator[tuple[Component, int]]:
        """All components, each with what it has not finished."""
        there = iter(self.ask("unfinished"))
        own = set(map(id, self._machine.memory_side()))
        for component in self._machine.components():
            left = next(there) if id(component) in own else component.in_flight()
            yield component, left

    def waiting(self) -> Iterator[str]:
        """What waits for what, component by component."""
        there = iter(self.ask("waiting"))
        own = set(map(id, self._machine.memory_side()))
        for component in self._machine.components():
            yield from next(there) if id(component) in own else component.waiting()


def readers_of(machine: Machine) -> dict[str, Callable[..., Any]]:
    """What can be asked of the memory side, by name."""
    return {
        "counters": lambda: _values(machine),
        "unfinished": lambda: [one.in_flight() for one in machine.memory_side()],
        "waiting": lambda: [list(one.waiting()) for one in machine.memory_side()],
        "progress": machine.progress_of_memory,
        "upcoming": lambda: machine.joined.next_of_memory() if machine.joined else 0,
    }


def _values(machine: Machine) -> list[int]:
    return [row.value for row in machine.own_counter_rows()]
