"""Who runs what: sweeps that share a folder claim runs, and a claim ends with its sweep.

::

    SWEEP.sweep      a sweep is there; it touches this file every few seconds
    KEY.claim        names the sweep that has a run
    KEY.stale        somebody is removing the claim of a sweep that is gone

All of it works on file systems that only promise that a file is created once.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import psutil

from gpusim.core.errors import WriteError

HEARTBEAT_SECONDS = 5.0
"""How often a sweep touches its file."""

LEASE_SECONDS = 60.0
"""A sweep on another machine is gone if it has not touched its file for so long."""

_SAME_START_SECONDS = 2.0
"""A process's start is told by a clock that may be set meanwhile, a little."""


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
        self, kind: type[BaseException] | None, error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:  # fmt: skip
        self._ended.set()
        self._heart.join()
        for path in self._folder.glob("*.claim"):
            self.give_back(path.stem)
        self._own.unlink(missing_ok=True)

    def take(self, key: str) -> bool:
        """Claim a run; False while a living sweep has it."""
        path = claim_file(self._folder, key)
        while True:
            try:
                _create(path, self.id)
            except FileExistsError:
                if not _remove_stale(path):
                    return False
            else:
                return True

    def give_back(self, key: str) -> None:
        """End a claim of this sweep."""
        path = claim_file(self._folder, key)
        if is_claimed_by(path, self.id):
            path.unlink(missing_ok=True)

    def remove_stale(self) -> None:
        """Remove what sweeps left behind that are gone."""
        for path in self._folder.glob("*.claim"):
            _remove_stale(path)
        for path in self._folder.glob("*.sweep"):
            if not _lives(path):
                path.unlink(missing_ok=True)
        for path in self._folder.glob("*.stale"):
            _remove_old(path)

    def _beat(self) -> None:
        while not self._ended.wait(HEARTBEAT_SECONDS):
            with suppress(OSError):  # a folder that is gone shows where results are written
                self._own.touch()


def held(folder: Path) -> set[str]:
    """Keys that living sweeps have claimed in a folder."""
    return {path.stem for path in folder.glob("*.claim") if _is_held(path)}


def claim_file(folder: Path, key: str) -> Path:
    """Where the claim of a run is, if there is one."""
    return folder / f"{key}.claim"


def is_claimed_by(claim: Path, sweep: str) -> bool:
    """Whether a claim is that of a sweep, by the sweep's id; in doubt it is."""
    try:
        return claim.read_text(encoding="utf-8") == sweep
    except FileNotFoundError:
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
            path.unlink(missing_ok=True)
            raise
    except FileExistsError:
        raise
    except OSError as error:
        raise WriteError(f"cannot write {path}: {error.strerror}") from error


def _remove_stale(claim: Path) -> bool:
    """Remove a claim whose sweep is gone; whether it makes sense to try again now.

    Several sweeps may see a stale claim at once.  One that removed it without the other file could
    remove the new claim of another one that was quicker.
    """
    if _is_held(claim):
        return False
    mine = claim.with_suffix(".stale")
    try:
        _create(mine, "")
    except FileExistsError:
        _remove_old(mine)
        return False
    try:
        if not _is_held(claim):
            claim.unlink(missing_ok=True)
    finally:
        mine.unlink(missing_ok=True)
    return True


def _remove_old(stale: Path) -> None:
    """Its maker was killed at once."""
    with suppress(FileNotFoundError):
        if _age(stale) > LEASE_SECONDS:
            stale.unlink()


def _is_held(claim: Path) -> bool:
    with suppress(FileNotFoundError):
        owner = claim.read_text(encoding="utf-8")
        if owner:
            return _lives(_sweep_file(claim.parent, owner))
        return _age(claim) < LEASE_SECONDS  # about to be written, or never will be
    return False


def _lives(sweep: Path) -> bool:
    with suppress(FileNotFoundError):
        try:
            about = json.loads(sweep.read_text(encoding="utf-8"))
        except ValueError:  # being written, or touched by a sweep that was taken for gone
            about = {}
        if about.get("host") == socket.gethostname():
            started = _started(about["process"])
            if started is None:
                return False
            if abs(started - about["started"]) < _SAME_START_SECONDS:
                return True
        return _age(sweep) < LEASE_SECONDS
    return False


def _started(process: int) -> float | None:
    """When a process of this machine has begun; None if there is none (any more)."""
    try:
        found = psutil.Process(process)
        with found.oneshot():
            return None if found.status() == psutil.STATUS_ZOMBIE else float(found.create_time())
    except psutil.NoSuchProcess:
        return None


def _age(path: Path) -> float:
    """Seconds since a file was touched; machines' clocks agree to much less than a lease."""
    return time.time() - path.stat().st_mtime
