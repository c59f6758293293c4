"""Runs that end before their programs do: rules by which an application is stopped."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from statistics import fmean, pstdev

from attrs import define, frozen

from gpusim.core.errors import UserError, nearest
from gpusim.core.metrics import INSTRUCTIONS
from gpusim.core.stop import Stop
from gpusim.machine.machine import Machine
from gpusim.runs.run_length import parse_amount

LOOK_CYCLES = 10_000
"""How often it is seen, at least, that an application has ended before its rule is met."""

WINDOW_CYCLES = 10_000
"""Length of a window of `ipc-stable` that names none [our choice]."""

_STABLE = re.compile(
    r"ipc-stable\(\s*([0-9.]+)\s*%\s*,\s*([0-9]{1,6})\s*windows\s*(?:,\s*(.+?)\s*)?\)"
)
_FORMS = (
    "2Mcycles, 500kinstructions, ipc-stable(2 %, 20 windows), "
    "ipc-stable(2 %, 20 windows, 10kcycles)"
)


class Watch(ABC):
    """Looks at one application until its rule is met."""

    @abstractmethod
    def look(self, cycle: int, instructions: int) -> int:
        """How many cycles later to look again; 0: the rule is met.

        Args:
            cycle: now.
            instructions: warp instructions that the application has issued.
        """


@frozen
class StopRule:
    """When an application is stopped.

    Attributes:
        text: how it was written.
        watch: begins to watch, given the most instructions that can be issued a cycle.
    """

    text: str
    watch: Callable[[int], Watch]


@define(eq=False, repr=False)
class _Cycles(Watch):
    limit: int

    def look(self, cycle: int, instructions: int) -> int:
        return max(self.limit - cycle, 0)


@define(eq=False, repr=False)
class _Instructions(Watch):
    """Looks no later than the limit can be reached, so it sees the cycle in which it is."""

    limit: int
    most: int

    def look(self, cycle: int, instructions: int) -> int:
        left = self.limit - instructions
        return max(left // self.most, 1) if left > 0 else 0


class _StableIpc(Watch):
    """The IPC of the last windows deviates little from their mean (PKA, MICRO 2021, §3.2)."""

    def __init__(self, limit: float, windows: int, length: int) -> None:
        self._limit = limit
        self._length = length
        self._issued: deque[int] = deque(maxlen=windows)
        self._before = 0
        self._due = length

    def look(self, cycle: int, instructions: int) -> int:
        if cycle >= self._due:
            self._issued.append(instructions - self._before)
            self._before = instructions
            self._due = cycle + self._length
            if len(self._issued) == self._issued.maxlen and self._stable():
                return 0
        return self._due - cycle

    def _stable(self) -> bool:
        mean = fmean(self._issued)
        return mean > 0 and pstdev(self._issued) <= self._limit * mean


def parse_rule(text: str) -> StopRule:
    """The rule that is written in a text, such as ``"20kcycles"``.

    Raises:
        UserError: the text is no rule.
    """
    text = text.strip()
    try:
        if text.endswith("cycles"):
            cycles = parse_amount(text, "cycles")
            return StopRule(text, lambda _: _Cycles(cycles))
        if text.endswith("instructions"):
            count = parse_amount(text, "instructions")
            return StopRule(text, lambda most: _Instructions(count, most))
        if match := _STABLE.fullmatch(text):
            return _stable_rule(text, *match.groups())
    except ValueError as error:
        raise UserError(f"--until {text}: {error}") from error
    raise UserError(f"--until {text}: no such rule; write it like one of {_FORMS}")


def _stable_rule(text: str, percent: str, windows: str, length: str | None) -> StopRule:
    limit, count = float(percent) / 100, int(windows)
    cycles = WINDOW_CYCLES if length is None else parse_amount(length, "cycles")
    if limit <= 0 or count < 2:
        raise ValueError("needs a deviation above 0 % and at least 2 windows")
    return StopRule(text, lambda _: _StableIpc(limit, count, cycles))


def parse_rules(texts: Sequence[str], names: Sequence[str]) -> dict[str, StopRule]:
    """Rules of applications, as they are written on the command line.

    Args:
        texts: ``"RULE"`` for all applications that have no other, or ``"NAME=RULE"``.
        names: of the applications.

    Returns:
        by name of the application.

    Raises:
        UserError: one is no rule, names no application, or is one too many.
    """
    rules: dict[str, StopRule] = {}
    for text in texts:
        name, equals, rule = text.rpartition("=")
        if name in rules:
            raise UserError(f"--until {text}: there is another rule for {name or 'all'}")
        if equals and name not in names:
            raise UserError(
                f"--until {text}: there is no application {name!r}{nearest(name, names)}; "
                f"there is: {', '.join(names)}"
            )
        rules[name] = parse_rule(rule)
    return {name: rules.get(name) or rules[""] for name in names if name in rules or "" in rules}


class Stopping:
    """Stops the applications of a machine by their rules; made before the first cycle.

    Args:
        machine: whose.
        rules: by name of the application.
    """

    def __init__(self, machine: Machine, rules: Mapping[str, StopRule]) -> None:
        self._machine = machine
        self._rules = rules
        self._met: dict[str, Stop] = {}
        for app, name in enumerate(machine.names):
            if name in rules:
                machine.env.start(self._watch(app, rules[name]), onlooker=True)

    def stops(self) -> list[Stop]:
        """What became of each rule, at the end of the run."""
        machine = self._machine
        return [
            self._met.get(name)
            or self._stop(app, self._rules[name], machine.schedulers[app].finished_at, met=False)
            for app, name in enumerate(machine.names)
            if name in self._rules
        ]

    def _watch(self, app: int, rule: StopRule) -> Generator[int, None, None]:
        machine = self._machine
        scheduler = machine.schedulers[app]
        config = machine.config.sm
        watch = rule.watch(len(machine.tenants[app].sms) * config.schedulers)
        while scheduler.finished_at < 0:
            pause = watch.look(machine.env.now, self._instructions(app))
            if not pause:
                self._met[machine.names[app]] = self._stop(app, rule, machine.env.now, met=True)
                machine.first_runs.end(app)
                return
            yield min(pause, LOOK_CYCLES)

    def _stop(self, app: int, rule: StopRule, cycle: int, *, met: bool) -> Stop:
        machine = self._machine
        ended = sum(sm.counters[app].warps for sm in machine.sms)
        warps = machine.schedulers[app].warps_launched - ended if met else 0
        return Stop(machine.names[app], rule.text, met, cycle, self._instructions(app), warps)

    def _instructions(self, app: int) -> int:
        """Issued so far; of an application that has been started again, in its first run."""
        machine = self._machine
        if app not in machine.first_runs.of:
            return sum(sm.counters[app].instructions for sm in machine.sms)
        return sum(
            row.value
            for row in machine.first_runs.of[app].counters
            if row.component == "sm" and row.name == INSTRUCTIONS
        )
