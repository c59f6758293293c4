"""Policies that misbehave, or wait for a test; named as "tests.studies.sweep.faulty:Class"."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from gpusim.core.mapping import Mapping
from gpusim.hardware.tlb import SetAssociativeArray

GATE = "GPUSIM_TEST_GATE"
"""Environment variable: the folder of a gate."""


class Gate:
    """What holds runs up until a test lets them go; the runs are in other processes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)

    def let(self, runs: int) -> None:
        """Let a number of runs through."""
        for number in range(runs):
            (self.folder / f"ticket {number}").touch()

    def open(self) -> None:
        """Let all runs through, from now on."""
        (self.folder / "open").touch()

    def is_open(self) -> bool:
        return (self.folder / "open").exists()

    def arrive(self) -> None:
        """Tell who watches the gate that this process is there."""
        (self.folder / f"process {os.getpid()}").touch()

    def arrived(self) -> set[int]:
        """The processes that are there, or were."""
        return {int(path.name.split()[1]) for path in self.folder.glob("process *")}

    def pass_through(self) -> None:
        while not (self.is_open() or self._took_ticket()):
            time.sleep(0.05)

    def _took_ticket(self) -> bool:
        for ticket in self.folder.glob("ticket *"):
            try:
                ticket.unlink()
            except FileNotFoundError:
                continue  # another run took it
            return True
        return False


def the_gate() -> Gate:
    return Gate(Path(os.environ[GATE]))


class Gated(SetAssociativeArray):
    """Waits at the gate once in a run, when the first translation comes."""

    passed = False

    def insert(self, tag: int, mapping: Mapping, slot: int) -> int:
        if not self.passed:
            the_gate().pass_through()
            self.passed = True
        return super().insert(tag, mapping, slot)


class Closed(SetAssociativeArray):
    """Fails while the gate is closed."""

    def insert(self, tag: int, mapping: Mapping, slot: int) -> int:
        if not the_gate().is_open():
            raise LookupError("the gate is closed")
        return super().insert(tag, mapping, slot)


class Dies(SetAssociativeArray):
    def insert(self, tag: int, mapping: Mapping, slot: int) -> int:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError


class Raises(SetAssociativeArray):
    def insert(self, tag: int, mapping: Mapping, slot: int) -> int:
        raise KeyError("lost my way")


class Loops(SetAssociativeArray):
    def insert(self, tag: int, mapping: Mapping, slot: int) -> int:
        self.run_in_circles()
        return 0

    def run_in_circles(self) -> None:
        while True:
            pass


class TakesItsTime(SetAssociativeArray):
    """Goes on, but does not come to an end soon."""

    def insert(self, tag: int, mapping: Mapping, slot: int) -> int:
        time.sleep(3)
        return super().insert(tag, mapping, slot)


class NeedsTooMuch(SetAssociativeArray):
    def insert(self, tag: int, mapping: Mapping, slot: int) -> int:
        raise MemoryError


class Leaves(SetAssociativeArray):
    def insert(self, tag: int, mapping: Mapping, slot: int) -> int:
        sys.exit("I have had enough")


class GoesOn(SetAssociativeArray):
    """Goes on for minutes, always at something."""

    def insert(self, tag: int, mapping: Mapping, slot: int) -> int:
        time.sleep(5)
        return super().insert(tag, mapping, slot)


_replace = Path.replace


def _replace_at_the_gate(path: Path, target: Path) -> Path:
    if target.suffix == ".h5":
        Path.replace = _replace  # this process may have other runs after this one
        the_gate().arrive()
        the_gate().pass_through()
    return _replace(path, target)


class HoldsItsResult(SetAssociativeArray):
    """Lets its run end, and then holds the result up: written, but without its name."""

    def insert(self, tag: int, mapping: Mapping, slot: int) -> int:
        Path.replace = _replace_at_the_gate
        return super().insert(tag, mapping, slot)
