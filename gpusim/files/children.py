"""Processes that end when their parent does, however it ends, and not by its Ctrl-C."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import Pipe
from typing import Any, Generic, NoReturn, TypeVar

import psutil

from gpusim.core.errors import SimulatorError, UserError
from gpusim.files.interrupts import uninterrupted

Answer = TypeVar("Answer")

_PARENT_SECONDS = 1.0


def can_fork() -> bool:
    """Whether this system copies processes."""
    return "fork" in multiprocessing.get_all_start_methods()


class Child:
    """A copy of this process that carries out a call; it ends when this one does.

    Args:
        call: what to do.
    """

    def __init__(self, call: Callable[[], None]) -> None:
        self._exit_code: int | None = None
        self._pid = 0
        if sys.platform == "win32":
            raise AssertionError("see can_fork")
        parent = os.getpid()
        _flush()
        with no_interrupts(), warnings.catch_warnings():
            # A thread that draws the progress holds no lock that the copy needs.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._pid = os.fork()
            if not self._pid:
                _begin(parent, call)

    def exit_code(self) -> int:
        """How it ended, once it has; negative: by that signal."""
        if self._exit_code is None:
            _, status = os.waitpid(self._pid, 0)
            self._exit_code = os.waitstatus_to_exitcode(status)
        return self._exit_code

    def end(self) -> None:
        """End it, whatever it does."""
        with uninterrupted():
            if self._exit_code is None and sys.platform != "win32":
                os.kill(self._pid, signal.SIGKILL)
                self.exit_code()


def _begin(parent: int, call: Callable[[], None]) -> NoReturn:
    """Be the copy."""
    code = 1
    try:
        start_child(parent)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        call()
        code = 0
    except BaseException:  # noqa: BLE001  (it may not go on as the process that it is a copy of)
        traceback.print_exc()
    finally:
        _flush()
        os._exit(code)


def _flush() -> None:
    """Write out what has been printed: a copy would print it again, or lose it."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # closed, or there is none
            stream.flush()


class Forked(Generic[Answer]):
    """A call that a copy of this process carries out.

    Args:
        call: what to do; what it returns is sent here.
        name: what it is, for messages.
    """

    def __init__(self, call: Callable[[], Answer], name: str) -> None:
        self._name = name
        self._answer, sender = Pipe(duplex=False)
        self._child = Child(partial(_carry_out, call, sender))
        sender.close()

    def answer(self) -> Answer:
        """What the call returned, once it has.

        Raises:
            UserError: the call did, or its process has died.
            SimulatorError: the call did.
        """
        try:
            error, found = self._answer.recv()
        except EOFError:
            raise UserError(
                f"{self._name}: its process has died ({_in_words(self._child.exit_code())}); "
                "a traceback above tells of an error, none of too little memory"
            ) from None
        if error is not None:
            raise error
        answer: Answer = found
        return answer

    def end(self) -> None:
        """End the process, whatever it does."""
        self._child.end()
        self._answer.close()


def _carry_out(call: Callable[[], Any], sender: Any) -> None:
    try:
        sender.send((None, call()))
    except UserError as error:
        sender.send((UserError(*error.args), None))
    except SimulatorError as error:
        sender.send((type(error)(*error.args), None))


def _in_words(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit status {code}"


def start_child(parent: int) -> None:
    """Prepare a process that another one has started: it ends with that one, not by Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent and (os.name == "posix" or psutil.pid_exists(parent)):
        time.sleep(_PARENT_SECONDS)  # elsewhere, the parent's number stays when it is gone
    os._exit(1)


@contextmanager
def no_interrupts() -> Iterator[None]:
    """Ctrl-C neither comes in between nor to a process that is started inside.

    A terminal sends it to all its processes; one that has only begun would complain.  Windows
    has no mask that a process inherits.
    """
    with uninterrupted():
        if sys.platform == "win32" or not hasattr(signal, "pthread_sigmask"):
            yield
            return
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
