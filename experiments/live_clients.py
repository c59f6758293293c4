"""Many clients of a live page: some ask, some say nothing, some read slowly, and the run goes on.

A run is started with ``--serve``; clients of three kinds connect, again and again, until the time
is over.  The run must end with its result, whole and with the digest that it has without a page,
and print nothing but its address.
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
from pathlib import Path

from attrs import define, field

import gpusim

MAINTENANCE = True
"""A study of gpusim itself: ``gpusim list maintenance`` has it."""

_ENOUGH = 1 << 16
_TIMEOUT = 10.0
_ADDRESS = re.compile(r"http://([0-9.]+):(\d+)/")
_MODEL, _PROGRAM = "tiny", "gups"
_OPTIONS = ("--scale", "smoke", "--serve", "0", "--quiet")


@define
class Crowd:
    """Clients of one page.

    Attributes:
        host, port: of the page.
        until: monotonic time at which they leave.
        seen: what came of their connections.
    """

    host: str
    port: int
    until: float
    seen: Counter[str] = field(factory=Counter)
    _lock: threading.Lock = field(factory=threading.Lock)

    def client(self, number: int) -> None:
        """Connect until the time is over: asking, silent or slow, by the number."""
        kind = ("asks", "says nothing", "reads slowly")[number % 3]
        while time.monotonic() < self.until:
            try:
                end = self._connect(kind)
            except OSError as error:
                end = type(error).__name__
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
                if time.monotonic() > self.until:
                    break
            return answer.split(b"\r\n")[0].decode("latin-1") or "closed"


def crowd(clients: int, seconds: float, updates: int) -> tuple[Counter[str], list[str]]:
    """Start a run, send clients, let it end, and look.

    Args:
        clients: how many at a time.
        seconds: of real time that they stay.
        updates: of the program, so many that it runs longer.

    Returns:
        what came of connections, and what is wrong, a sentence each.
    """
    settings = {"updates": updates, "log2_words": 14, "threads": 256}
    sets = [part for key, one in settings.items() for part in ("--set", f"workload.{key}={one}")]
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "run.h5"
        process = subprocess.Popen(  # noqa: S603  (our own program)
            [
                *(sys.executable, "-m", "gpusim", "run", _MODEL, _PROGRAM, *_OPTIONS, *sets),
                *("-o", str(output)),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        found = _ADDRESS.search(process.stderr.readline())
        if found is None:
            return Counter(), ["the run named no address"]
        people = Crowd(found[1], int(found[2]), time.monotonic() + seconds)
        threads = [threading.Thread(target=people.client, args=(one,)) for one in range(clients)]
        for thread in threads:
            thread.start()
        errors = process.stderr.read()
        process.wait()
        early = time.monotonic() < people.until
        for thread in threads:
            thread.join()
        problems = []
        if early:
            problems.append("the run ended before the clients did: give it more updates")
        if process.returncode or errors.strip():
            problems.append(f"the run ended with {process.returncode}: {errors[-500:]}")
        with gpusim.open_result(output) as result:
            digest = result.digest
    work = gpusim.load_workload(_PROGRAM, "smoke", overrides=settings)
    with gpusim.simulate(_MODEL, work) as alone:
        if alone.digest != digest:
            problems.append(f"the digest is {digest}, and {alone.digest} without a page")
    return people.seen, problems


def main() -> int:
    """Run, report; 1 if anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=200, help="default: %(default)s")
    parser.add_argument("--minutes", type=float, default=2.0, help="default: %(default)s")
    parser.add_argument("--updates", type=int, default=2000, help="default: %(default)s")
    options = parser.parse_args()
    seen, problems = crowd(options.clients, options.minutes * 60, options.updates)
    for what, count in sorted(seen.items()):
        print(f"{what}: {count:,}")
    print("\n".join(problems) or f"{options.clients} clients, and the run is whole")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
