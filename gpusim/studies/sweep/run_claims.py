"""Claims on runs: sweeps that share a folder claim their runs, and a claim ends with its sweep.

::

    SWEEP.sweep      a sweep is there; it touches this file every few seconds
    KEY.claim        names the sweep that has a run
    KEY.stale        names the sweep that is removing the claim of one that is gone

All of it works on file systems that only promise that a file is created once.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import psutil

from gpusim.core.errors import WriteError
from gpusim.core.untrusted import small_text
from gpusim.files.whole_files import remove

HEARTBEAT_SECONDS = 5.0
"""How often a sweep touches its file."""

LEASE_SECONDS = 60.0
"""A sweep on another machine is gone if it has not touched its file for so long."""

_NAME = re.compile(r"[\w.-]+", re.ASCII)
_MOST_NAME = 200
"""Letters of the name of a sweep's file."""

_MOST_PROCESS = (1 << 31) - 1

_SAME_START_SECONDS = 2.0
"""Tolerance for the start of a process, as its clock may be adjusted a little meanwhile."""


class Claims:
    """Context manager: this sweep's claims in a folder.

    Args:
        folder: where claims are kept; it exists.

    Raises:
        WriteError: (on entry, and by `take`) the folder cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self.id = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
        self._folder = folder
        self._own = _sweep_file(folder, self.id)
        self._ended = threading.Event()
        self._heart = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> Claims:
        process = psutil.Process()
        about = {
            "host": socket.gethostname(),
            "process": process.pid,
            "started": process.create_time(),
        }
        _create(self._own, json.dumps(about))
        self._heart.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._heart.join()
        for path in self._folder.glob("*.claim"):
            self.give_back(path.stem)
        remove(self._own)

    def take(self, key: str) -> bool:
        """Claim a run; False while a living sweep has it."""
        path = claim_file(self._folder, key)
        while True:
            try:
                _create(path, self.id)
            except FileExistsError:
                if not _remove_stale(path, self.id):
                    return False
            else:
                return True

    def give_back(self, key: str) -> None:
        """End a claim of this sweep."""
        path = claim_file(self._folder, key)
        if is_claimed_by(path, self.id):
            remove(path)

    def remove_stale(self) -> None:
        """Remove what sweeps left behind that are gone."""
        for path in self._folder.glob("*.stale"):
            _remove_old(path)
        for path in self._folder.glob("*.claim"):
            _remove_stale(path, self.id)
        for path in self._folder.glob("*.sweep"):
            if not _lives(path):
                remove(path)

    def _beat(self) -> None:
        while not self._ended.wait(HEARTBEAT_SECONDS):
            with suppress(OSError):  # a folder that is gone shows where results are written
                self._own.touch()


def held(folder: Path) -> set[str]:
    """Keys that living sweeps have claimed in a folder."""
    return {path.stem for path in folder.glob("*.claim") if _is_held(path)}


def living(folder: Path) -> set[str]:
    """Ids of the sweeps that are running here."""
    return {path.stem for path in folder.glob("*.sweep") if _lives(path)}


def claim_file(folder: Path, key: str) -> Path:
    """Where the claim of a run is, if there is one."""
    return folder / f"{key}.claim"


def is_claimed_by(claim: Path, sweep: str) -> bool:
    """Whether a claim is that of a sweep, by the sweep's id; in doubt it is."""
    try:
        return small_text(claim) == sweep
    except FileNotFoundError:
        return False
    except ValueError:  # no text, so no claim of a sweep
        return False
    except OSError:  # a file server that does not answer is no reason to give anything up
        return True


def _sweep_file(folder: Path, name: str) -> Path:
    return folder / f"{name}.sweep"


def _create(path: Path, text: str) -> None:
    """Create a file, whole or not at all.

    Raises:
        FileExistsError: it exists.
        WriteError: it cannot be written.
    """
    try:
        stream = path.open("x", encoding="utf-8")
        try:
            with stream:
                stream.write(text)
        except BaseException:
            remove(path)
            raise
    except FileExistsError:
        raise
    except OSError as error:
        raise WriteError(f"cannot write {path}: {error.strerror}") from error


def _remove_stale(claim: Path, sweep: str) -> bool:
    """Remove a claim whose sweep is gone; whether it makes sense to try again now.

    Several sweeps may see a stale claim at once.  One that removed it without the other file could
    remove the new claim of another one that was quicker.
    """
    if _is_held(claim):
        return False
    mine = claim.with_suffix(".stale")
    try:
        _create(mine, sweep)
    except FileExistsError:
        _remove_old(mine)
        return False
    try:
        if not _is_held(claim):
            remove(claim)
    finally:
        remove(mine)
    return True


def _remove_old(stale: Path) -> None:
    """Remove a file of a sweep that was killed as soon as it had made it."""
    with suppress(FileNotFoundError):
        owner = _owner(stale)
        if (owner and not _lives(_sweep_file(stale.parent, owner))) or age(stale) > LEASE_SECONDS:
            remove(stale)


def _is_held(claim: Path) -> bool:
    with suppress(FileNotFoundError):
        if owner := _owner(claim):
            return _lives(_sweep_file(claim.parent, owner))
        return age(claim) < LEASE_SECONDS  # about to be written, or never will be
    return False


def _owner(claim: Path) -> str:
    """The sweep that a claim names; empty where it names none: it is being written, or damaged."""
    try:
        name = small_text(claim)
    except FileNotFoundError:
        raise
    except (OSError, ValueError):
        return ""  # a folder, or unreadable for this user: its age decides
    return name if len(name) <= _MOST_NAME and _NAME.fullmatch(name) else ""


def _lives(sweep: Path) -> bool:
    with suppress(FileNotFoundError):
        process, began = _read_claim(sweep)
        if process is not None:
            started = _started(process)
            if started is None:
                return False
            if abs(started - began) < _SAME_START_SECONDS:
                return True
        return age(sweep) < LEASE_SECONDS
    return False


def _read_claim(sweep: Path) -> tuple[int | None, float]:
    """Process of this machine, and its start; None where the file names none of this machine.

    A file may be half written, touched by a sweep that was taken for gone, or damaged.
    """
    try:
        about = json.loads(small_text(sweep))
        if about["host"] != socket.gethostname():
            return None, 0.0
        process, began = int(about["process"]), float(about["started"])
    except FileNotFoundError:
        raise
    except (OSError, ValueError, LookupError, TypeError, OverflowError, RecursionError):
        return None, 0.0
    return (process, began) if 0 < process <= _MOST_PROCESS else (None, 0.0)


def _started(process: int) -> float | None:
    """When a process of this machine has begun; None if there is none (any more)."""
    try:
        found = psutil.Process(process)
        with found.oneshot():
            return None if found.status() == psutil.STATUS_ZOMBIE else float(found.create_time())
    except psutil.NoSuchProcess:
        return None
    except psutil.Error:  # another user's process, which the system does not show
        return None


def age(path: Path) -> float:
    """Seconds since a file was touched; machines' clocks agree to much less than a lease."""
    return time.time() - path.stat().st_mtime
