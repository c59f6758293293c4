"""A second process, in which the memory side of a machine runs."""

from __future__ import annotations

import mmap
import os
import platform
import signal
import sys
import time
import traceback
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from multiprocessing import Pipe
from types import TracebackType
from typing import Any, Final

from gpusim.core.engine import LeadingEnvironment, Sides
from gpusim.core.engine.apart import Following, Leading
from gpusim.core.engine.line import LINE_BYTES, Line
from gpusim.core.errors import UserError, own_code_errors
from gpusim.files.children import Child, can_fork
from gpusim.machine.machine import Machine
from gpusim.machine.sides.apart import MemoryApart, readers_of

_ANSWER, _FAILED = "answer", "failed"

_YIELDS: Final = 4000
"""Looks at an empty ring after which each further one is a short sleep."""

_NAP: Final = 0.0002
"""How long that is, in seconds."""

_LOOKS: Final = 64
"""Looks after which it is seen whether the other process is alive."""

_ORDERED: Final = ("x86_64", "AMD64")
"""Processors whose stores are seen in their order, as `gpusim.core.engine.line` needs it."""


class MemoryProcess:
    """Context manager around a run: the memory side of the machine runs in a process of its own.

    It is made by a fork, and ends with the context, however that ends.

    Args:
        machine: before its first cycle; its two sides have loops of their own.
        readers: further readings, by name, each of the machine as a process has it.
        own_modules: names of the modules that are the user's, for errors that come out of them.

    Raises:
        UserError: this computer cannot do it.
    """

    def __init__(
        self,
        machine: Machine,
        readers: Mapping[str, Callable[..., Any]],
        own_modules: Collection[str],
    ) -> None:
        assert machine.joined is not None
        if not can_fork() or platform.machine() not in _ORDERED:
            raise UserError(
                "--cores 2: needs a system that can fork, and an x86-64 processor; "
                f"this is {platform.system()} on {platform.machine()}"
            )
        self._machine = machine
        self._joined = machine.joined
        self._readers = {**readers_of(machine), **readers}
        self._own_modules = own_modules
        self._failure: Exception | None = None
        self._parent = os.getpid()
        self._memory = mmap.mmap(-1, LINE_BYTES)
        self._here, self._there = Pipe()

    def __enter__(self) -> MemoryProcess:
        machine, joined, env = self._machine, self._joined, self._machine.env
        assert isinstance(env, LeadingEnvironment)
        apart = MemoryApart(machine, self.ask)
        self._child = Child(self._run_memory)
        self._there.close()
        line = Line(self._memory, 0, self._pause)
        self._line = line
        self._leading = Leading(joined.sms, joined.to_memory, line, joined.ahead)
        env.sides = _Checked(self._leading, lambda: self.ask("upcoming"))
        env.upcoming = self._upcoming
        machine.apart = apart
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._here.close()
        self._child.end()

    # -- this process ------------------------------------------------------------------------------

    def ask(self, name: str, *given: object) -> Any:
        """A reading of the memory side, when it has come as far as it may."""
        self._leading.ask()
        with suppress(OSError):  # it has ended, and said why
            self._here.send((name, given))
        answer = self._received()
        self._line.fetch(self._joined.sms.words)
        return answer

    def _upcoming(self) -> int:
        """The first cycle with an event of the memory side, or of what either side told."""
        cycle: int = self.ask("upcoming")
        words = self._joined.sms.words
        return min(cycle, words.first()) if words else cycle

    def _received(self) -> Any:
        """What the other process answers.

        Raises:
            Exception: what ended it.
        """
        if self._failure is None:
            try:
                kind, value = self._here.recv()
            except (EOFError, OSError):
                kind, value = _FAILED, self._end()
            if kind == _ANSWER:
                return value
            self._failure = value
        raise self._failure

    def _pause(self, looks: int) -> None:
        """Wait a little for the other process, which may have failed."""
        if looks % _LOOKS == 0 and self._here.poll():
            self._received()
        _rest(looks)

    def _end(self) -> UserError:
        """The other process has ended and has not said why."""
        code = self._child.exit_code()
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
        return UserError(f"--cores 2: the second process has ended: {how}")

    # -- the other one -----------------------------------------------------------------------------

    def _run_memory(self) -> None:
        """Be the process of the memory side."""
        self._here.close()
        try:
            joined = self._joined
            line = Line(self._memory, 1, self._pause_there)
            with own_code_errors(self._own_modules):
                Following(joined.memory, joined.to_sms, line, self._answer).run_all()
        except _Over:
            pass
        except BaseException as error:  # noqa: BLE001  (it is raised again in the other process)
            _send_failure(self._there, error)

    def _answer(self) -> None:
        try:
            name, given = self._there.recv()
        except (EOFError, OSError):
            raise _Over from None
        self._there.send((_ANSWER, self._readers[name](*given)))

    def _pause_there(self, looks: int) -> None:
        if looks % _LOOKS == 0 and os.getppid() != self._parent:
            raise _Over
        _rest(looks)


class _Over(Exception):  # noqa: N818  (no error)
    """The other process has ended."""


class _Checked(Sides):
    """Runs the leading side; what went wrong on the following one before comes first.

    Args:
        leading: runs it.
        look: raises what went wrong there.
    """

    def __init__(self, leading: Leading, look: Callable[[], object]) -> None:
        self._leading = leading
        self._look = look

    def run_all(self) -> None:
        try:
            self._leading.run_all()
        except Exception:
            self._look()
            raise


def _rest(looks: int) -> None:
    """Let others have this core."""
    if looks < _YIELDS and sys.platform != "win32":
        os.sched_yield()
    else:
        time.sleep(_NAP)


def _send_failure(there: Any, error: BaseException) -> None:
    """Tell the other process what went wrong, as it is or, if that cannot be sent, as text."""
    if not isinstance(error, Exception):
        error = RuntimeError(f"{type(error).__name__}: {error}")
    error.add_note("".join(traceback.format_exception(error)))
    try:
        there.send((_FAILED, error))
    except Exception:  # noqa: BLE001  (exceptions of users may be anything)
        there.send((_FAILED, RuntimeError(f"{type(error).__name__}: {error}")))
