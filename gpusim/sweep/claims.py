"""Who runs what: sweeps that share a folder claim runs, and a claim ends with its sweep.

A sweep has a file that it touches every few seconds; a claim is a file that names the sweep.  All
of it works on file systems that only promise that a file is created once.
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

from gpusim.errors import WriteError

HEARTBEAT_SECONDS = 5.0
"""How often a sweep touches its file."""

LEASE_SECONDS = 60.0
"""A sweep on another machine is gone if it has not touched its file for so long."""


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
        self._taken: set[str] = set()
        self._ended = threading.Event()
        self._heart = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> Claims:
        process = psutil.Process()
        about = {
            "host": socket.gethostname(),
            "process": process.pid,
            "started": process.create_time(),
        }
        try:
            self._own.write_text(json.dumps(about), encoding="utf-8")
        except OSError as error:
            raise WriteError(f"cannot write {self._own}: {error.strerror}") from error
        self._heart.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:  # fmt: skip
        self._ended.set()
        self._heart.join()
        for key in list(self._taken):
            self.give_back(key)
        self._own.unlink(missing_ok=True)

    def take(self, key: str) -> bool:
        """Claim a run; False while a living sweep has it."""
        path = self._folder / f"{key}.claim"
        while True:
            try:
                with path.open("x", encoding="utf-8") as claim:
                    claim.write(self.id)
            except FileExistsError:
                if _is_held(path):
                    return False
                path.unlink(missing_ok=True)  # its sweep is gone
                continue
            except OSError as error:
                raise WriteError(f"cannot write {path}: {error.strerror}") from error
            self._taken.add(key)
            return True

    def give_back(self, key: str) -> None:
        """End a claim."""
        self._taken.discard(key)
        (self._folder / f"{key}.claim").unlink(missing_ok=True)

    def _beat(self) -> None:
        while not self._ended.wait(HEARTBEAT_SECONDS):
            with suppress(OSError):  # a folder that is gone shows where results are written
                self._own.touch()


def held(folder: Path) -> set[str]:
    """Keys that living sweeps have claimed in a folder."""
    return {path.stem for path in folder.glob("*.claim") if _is_held(path)}


def _sweep_file(folder: Path, name: str) -> Path:
    return folder / f"{name}.sweep"


def _is_held(claim: Path) -> bool:
    with suppress(FileNotFoundError):
        owner = claim.read_text(encoding="utf-8")
        if owner:
            return _lives(_sweep_file(claim.parent, owner))
        return _age(claim) < LEASE_SECONDS  # about to be written, or never will be
    return False


def _lives(sweep: Path) -> bool:
    with suppress(FileNotFoundError):
        text = sweep.read_text(encoding="utf-8")
        about = json.loads(text) if text else {}
        if about.get("host") == socket.gethostname():
            with suppress(psutil.NoSuchProcess):
                return bool(psutil.Process(about["process"]).create_time() == about["started"])
            return False
        return _age(sweep) < LEASE_SECONDS
    return False


def _age(path: Path) -> float:
    """Seconds since a file was touched; machines' clocks agree to much less than a lease."""
    return time.time() - path.stat().st_mtime
