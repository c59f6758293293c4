"""Processes that end when their parent does, however it ends, and not by its Ctrl-C."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any, Generic, TypeVar

import psutil

from gpusim.core.errors import SimulatorError, UserError
from gpusim.files.interrupts import uninterrupted

Answer = TypeVar("Answer")

_PARENT_SECONDS = 1.0


def can_fork() -> bool:
    """Whether this system copies processes."""
    return "fork" in multiprocessing.get_all_start_methods()


class Forked(Generic[Answer]):
    """A call that a copy of this process carries out.

    Args:
        call: what to do; what it returns is sent here.
        name: what it is, for messages.
    """

    def __init__(self, call: Callable[[], Answer], name: str) -> None:
        context: Any = multiprocessing.get_context("fork")
        self._name = name
        self._answer, sender = context.Pipe(duplex=False)
        self._process = context.Process(target=_carry_out, args=(call, sender), daemon=True)
        with no_interrupts(), warnings.catch_warnings():
            # A thread that draws the progress holds no lock that the copy needs.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._process.start()
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
            self._process.join()
            raise UserError(
                f"{self._name}: its process has died ({_end_in_words(self._process.exitcode)}); "
                "a traceback above tells of an error, none of too little memory"
            ) from None
        if error is not None:
            raise error
        answer: Answer = found
        return answer

    def end(self) -> None:
        """End the process, whatever it does."""
        with uninterrupted():
            self._process.kill()
            self._process.join()
            self._answer.close()


def _carry_out(call: Callable[[], Any], sender: Connection) -> None:
    start_child(os.getppid())
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        sender.send((None, call()))
    except UserError as error:
        sender.send((UserError(*error.args), None))
    except SimulatorError as error:
        sender.send((type(error)(*error.args), None))


def _end_in_words(code: int | None) -> str:
    return f"signal {-code}" if code is not None and code < 0 else f"exit status {code}"


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
