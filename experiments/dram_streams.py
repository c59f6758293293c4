"""Drives DRAM channels with a stream of requests and measures them from outside."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from attrs import frozen

from gpusim.config.dram import DramConfig
from gpusim.core.engine import NEVER, Environment, Port, Sink, Wakeable
from gpusim.core.errors import UserError
from gpusim.core.request import Kind, MemoryRequest
from gpusim.core.unboxed import IntList
from gpusim.hardware.dram import build_dram


@frozen
class Stream:
    """Files of a request stream.

    Attributes:
        requests: ``.npz`` with `address` and `is_write`.
        arrivals: ``.npz`` with an array of cycles for each load; without it, all arrive at once.
        load_name: the load.
        per_channel: whether each channel has an in-order source of its own.
        interval: cycles a request at the peak bandwidth.
    """

    requests: Path
    arrivals: Path
    load_name: str
    per_channel: bool
    interval: float

    def load(self) -> tuple[list[int], list[bool], list[int]]:
        """Addresses, whether they are written, and arrival cycles.

        Raises:
            UserError: a file is missing or damaged.
        """
        arrays = _arrays(self.requests, ("address", "is_write"))
        addresses = arrays["address"]
        if self.load_name == "sat":
            arrivals = np.zeros(len(addresses), np.int64)
        else:
            arrivals = _arrays(self.arrivals, (self.load_name,))[self.load_name][: len(addresses)]
        for name, array in (("is_write", arrays["is_write"]), (self.load_name, arrivals)):
            if len(array) != len(addresses):
                raise UserError(f"{self.requests}: {len(addresses)} addresses, {len(array)} {name}")
        return addresses.tolist(), arrays["is_write"].astype(bool).tolist(), arrivals.tolist()


def _arrays(path: Path, names: Sequence[str]) -> dict[str, Any]:
    """Arrays of an ``.npz`` by name."""
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            return {name: file[name] for name in names}
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}") from error
    except KeyError as error:
        raise UserError(f"{path}: there is no array {error}") from error
    except (ValueError, EOFError, BadZipFile) as error:
        raise UserError(f"{path}: damaged: {error}") from error


@frozen
class Figures:
    """What a stream met, in DRAM clocks.

    Attributes:
        makespan: from the first acceptance to the end of the last read.
        read_latency: mean over reads, from acceptance to the end of the data.
        latencies: the same of each read by its number in the stream.
    """

    makespan: int
    read_latency: float
    latencies: dict[int, int]


class _Answers(Sink):
    """A sink that takes answered reads; `vline` carries a request's number in the stream."""

    def __init__(self, env: Environment) -> None:
        self.name = "answers"
        self._env = env
        self.latencies: dict[int, int] = {}
        self.last = 0

    @property
    def full(self) -> bool:
        """It takes any number."""
        return False

    def when_free(self, sender: Wakeable) -> None:
        """Never called: it is never full."""

    def send(self, item: MemoryRequest, extra_cycles: int = 0) -> None:
        """Note when the data of `item` ended; its trail begins with its acceptance."""
        finished = self._env.now + extra_cycles
        self.latencies[item.vline] = finished - item.trail[1]
        self.last = max(self.last, finished)


class _Source:
    """Sends its requests in order, each once the one before was accepted."""

    def __init__(
        self, env: Environment, ports: Iterator[tuple[int, MemoryRequest, Port[MemoryRequest]]]
    ) -> None:
        self.first = NEVER
        self._env = env
        self._ports = ports
        self._process = env.start(self._run())

    def _run(self) -> Generator[int | None, None, None]:
        env = self._env
        for arrival, request, port in self._ports:
            if arrival > env.now:
                yield arrival - env.now
            port.send(request)
            while len(port):
                port.when_free(self._process.wake)
                yield None
            self.first = min(self.first, env.now)


def drive(
    dram: DramConfig,
    addresses: Sequence[int],
    writes: Sequence[bool],
    arrivals: Sequence[int],
    per_channel: bool = False,
) -> Figures:
    """Send a stream from one in-order source (or one a channel), as fast as it is accepted.

    The core clock is the DRAM's, so cycles are DRAM clocks.
    """
    env = Environment()
    channels, mapping = build_dram(env, dram, dram.clock)
    answers = _Answers(env)

    def requests(
        numbers: Sequence[int],
    ) -> Iterator[tuple[int, MemoryRequest, Port[MemoryRequest]]]:
        for number in numbers:
            address = addresses[number]
            kind = Kind.WRITEBACK if writes[number] else Kind.LOAD
            request = MemoryRequest(kind, 0, 0, 0, 0, address, number, 1, 0, None, IntList())
            request.return_to(answers)
            yield arrivals[number], request, channels[mapping.channel(address)].requests

    shares: list[list[int]] = [[] for _ in channels]
    for number, address in enumerate(addresses):
        shares[mapping.channel(address) if per_channel else 0].append(number)
    sources = [_Source(env, requests(share)) for share in shares if share]
    env.run()
    lost = sum(channel.in_flight() for channel in channels)
    reads = len(addresses) - sum(writes)
    if lost or len(answers.latencies) != reads:
        raise RuntimeError(f"{lost} requests stuck, {len(answers.latencies)} of {reads} answered")
    return Figures(
        answers.last - min(source.first for source in sources),
        sum(answers.latencies.values()) / max(reads, 1),
        answers.latencies,
    )
