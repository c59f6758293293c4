"""Many clients of a live page: some ask, some say nothing, some read slowly, and the run goes on.

Runs are started with ``--serve``, one after the other, until the time is over; to each of them
clients of three kinds connect, again and again.  A run must end with its result, whole and with the
digest that it has without a page, and print nothing but its address.
"""

from __future__ import annotations

import argparse
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from attrs import define, field

import gpusim
from experiments.counts import positive

MAINTENANCE = True
"""A study of gpusim itself: ``gpusim list maintenance`` has it."""

_ENOUGH = 1 << 16
_TIMEOUT, _PAUSE = 10.0, 0.1
_ADDRESS = re.compile(r"http://([0-9.]+):(\d+)/")
_MODEL, _PROGRAM = "tiny", "gups"
SETTINGS = {"log2_words": 14, "threads": 256}
_OPTIONS = ("--scale", "smoke", "--serve", "0", "--quiet")


@define
class Crowd:
    """Clients of one page.

    Attributes:
        host, port: of the page.
        gone: set when the run has ended.
        seen: what came of their connections.
    """

    host: str
    port: int
    gone: threading.Event = field(factory=threading.Event)
    seen: Counter[str] = field(factory=Counter)
    _lock: threading.Lock = field(factory=threading.Lock)

    def client(self, number: int) -> None:
        """Connect until the run has ended: asking, silent or slow, by the number."""
        kind = ("asks", "says nothing", "reads slowly")[number % 3]
        while not self.gone.is_set():
            try:
                end = self._connect(kind)
            except OSError as error:
                end = type(error).__name__
                time.sleep(_PAUSE)
            if not self.gone.is_set():
                with self._lock:
                    self.seen[f"{kind}: {end}"] += 1

    def _connect(self, kind: str) -> str:
        with socket.create_connection((self.host, self.port), timeout=_TIMEOUT) as connection:
            if kind != "says nothing":
                path = "state" if kind == "asks" else ""
                host = f"{self.host}:{self.port}"
                connection.sendall(f"GET /{path} HTTP/1.0\r\nHost: {host}\r\n\r\n".encode())
            answer = b""
            while piece := connection.recv(64 if kind == "reads slowly" else _ENOUGH):
                answer = answer or piece
                if kind == "reads slowly":
                    time.sleep(0.2)
                if self.gone.is_set():
                    break
            return answer.split(b"\r\n")[0].decode("latin-1") or "closed"


def crowd(clients: int, expected: str, settings: Mapping[str, int]) -> tuple[Counter[str], str]:
    """Start a run, send clients, and look at what it leaves.

    Args:
        clients: how many at a time.
        expected: the digest of the run without a page.
        settings: of its program.

    Returns:
        what came of connections, and what is wrong; empty: nothing.
    """
    sets = [part for key, one in settings.items() for part in ("--set", f"workload.{key}={one}")]
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "run.h5"
        command = [
            *(sys.executable, "-m", "gpusim", "run", _MODEL, _PROGRAM, *_OPTIONS, *sets),
            *("-o", str(output)),
        ]
        with subprocess.Popen(  # noqa: S603  (our own program)
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        ) as process:
            seen, problem = _besieged(process, clients)
        if problem:
            return seen, problem
        with gpusim.open_result(output) as result:
            differs = result.digest != expected
        return seen, f"the digest is not {expected}, as without a page" if differs else ""


def _besieged(process: subprocess.Popen[str], clients: int) -> tuple[Counter[str], str]:
    """What came of connections to a run until it ended, and what is wrong with it."""
    assert process.stderr is not None
    found = _ADDRESS.search(process.stderr.readline())
    if found is None:
        process.kill()
        return Counter(), "a run named no address"
    people = Crowd(found[1], int(found[2]))
    threads = [threading.Thread(target=people.client, args=(one,)) for one in range(clients)]
    for thread in threads:
        thread.start()
    errors = process.stderr.read().strip()
    process.wait()
    people.gone.set()
    for thread in threads:
        thread.join()
    if process.returncode or errors:
        return people.seen, f"a run ended with {process.returncode}: {errors[-500:]}"
    return people.seen, ""


def undisturbed(settings: Mapping[str, int]) -> str:
    """The digest of a run without a page."""
    work = gpusim.load_workload(_PROGRAM, "smoke", overrides=settings)
    with gpusim.simulate(_MODEL, work) as alone:
        return alone.digest


def main() -> int:
    """Run, report; 1 if anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=positive, default=200, help="default: %(default)s")
    parser.add_argument("--minutes", type=float, default=2.0, help="default: %(default)s")
    parser.add_argument(
        "--updates", type=positive, default=24, help="of a run (default: %(default)s)"
    )
    options = parser.parse_args()
    settings = {**SETTINGS, "updates": options.updates}
    expected, end = undisturbed(settings), time.monotonic() + options.minutes * 60
    seen: Counter[str] = Counter()
    runs, problems = 0, list[str]()
    while time.monotonic() < end and not problems:
        ends, problem = crowd(options.clients, expected, settings)
        seen.update(ends)
        runs += 1
        problems += [problem] if problem else []
    for what, count in sorted(seen.items()):
        print(f"{what}: {count:,}")
    print("\n".join(problems) or f"{options.clients} clients at a time, {runs} runs, all whole")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
