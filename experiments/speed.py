"""What a memory transaction costs, in bare SimPy timeouts measured in the same process.

Run with ``python -m experiments.speed [--json]``.  Three kernels on one model: one whose loads hit
everywhere, one that misses the L1 TLB most of the time, one that streams from DRAM.  The price in
timeouts means the same on every machine.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Generator, Iterator

import numpy as np
import simpy
from attrs import asdict, define, frozen
from rich.console import Console
from rich.table import Table

from gpusim.core.warp_program import Launch
from gpusim.machine import Machine, Tenant
from gpusim.machine.load import load_model
from gpusim.programs.device import DeviceArray
from gpusim.programs.kernel import Kernel, Program
from gpusim.programs.tracer import BlockTracer, Shape
from gpusim.simulate import run

MODEL = "kepler-uvm"
BLOCKS, THREADS = 64, 256
TIMEOUTS, TIMEOUT_PROCESSES = 300_000, 1000


@frozen
class Case:
    """One kernel and the price that we aim at."""

    name: str
    aim: float
    iterations: int
    variants: tuple[str, ...] = ()


CASES = (
    Case("hit-heavy", 12, 400),
    Case("tlb-miss-heavy", 20, 120),
    Case("dram-heavy", 20, 60, ("huge-pages",)),
)


@define(kw_only=True, eq=False)
class Loads(Kernel):
    """Every thread loads, computes a little, and waits for every second load.

    ``hit-heavy``: one line a warp, of a KiB that a block reads again and again.
    ``tlb-miss-heavy``: eight lanes share a line, one line a page, pages drawn at random from
    1 MiB: too much for an L1 TLB of 64 entries, too little for an L2 TLB of 512.
    ``dram-heavy``: sixteen bytes a lane, four lines a warp, all blocks together streaming through
    an array; 2 MiB pages, so that memory and not translation is what it waits for.
    """

    data: DeviceArray[np.float32]
    case: Case

    def body(self, k: BlockTracer) -> Iterator[None]:
        generator = np.random.default_rng(k.bx)
        words = 1024
        for i in range(self.case.iterations):
            if self.case.name == "hit-heavy":
                index = k.tid + 256 * (i % 4)
            elif self.case.name == "tlb-miss-heavy":
                pages = generator.integers(0, 256, k.threads // 8).repeat(8)
                index = pages * words + pages % 32 * 32 + k.tid % 8
            else:
                index = ((i * BLOCKS + k.bx) * k.threads + k.tid) * 4
            k.load(self.data, index)
            k.compute(2)
            if i % 2:
                k.wait()
            yield


class Stream(Program):
    """One launch of `Loads`."""

    def __init__(self, case: Case) -> None:
        super().__init__(case.name)
        self.case = case
        words = BLOCKS * THREADS * case.iterations * 4 if case.name == "dram-heavy" else 1 << 18
        self.data = self.memory.allocate("data", np.zeros(words, dtype=np.float32))

    def launches(self) -> Iterator[Launch]:
        yield Loads(
            shape=Shape((BLOCKS, 1, 1), (THREADS, 1, 1)), name=self.case.name,
            registers_per_thread=16, data=self.data, case=self.case,
        )  # fmt: skip


@frozen
class Price:
    """What one case cost."""

    case: str
    transactions: int
    transactions_per_second: float
    events_per_transaction: float
    timeout_ns: float
    timeouts_per_transaction: float
    aim: float


def bare_timeout_seconds() -> float:
    """Seconds of one plain SimPy timeout, with a thousand processes waiting."""
    env = simpy.Environment()

    def process() -> Generator[simpy.Event, object, None]:
        for _ in range(TIMEOUTS // TIMEOUT_PROCESSES):
            yield env.timeout(1)

    for _ in range(TIMEOUT_PROCESSES):
        env.process(process())
    started = time.process_time()
    env.run()
    return (time.process_time() - started) / TIMEOUTS


def measure(case: Case, repeats: int) -> Price:
    """The median price of a case over some runs, each between two measurements of the unit."""
    prices = []
    for _ in range(repeats):
        before = bare_timeout_seconds()
        model = load_model(MODEL, case.variants)
        sms = range(model.config.sm.count)
        machine = Machine(model.config, [Tenant(case.name, Stream(case), sms)], seed=0)
        started = time.process_time()
        run(machine)
        seconds = time.process_time() - started
        timeout = (before + bare_timeout_seconds()) / 2
        count = machine.transactions
        prices.append(
            Price(
                case=case.name,
                transactions=count,
                transactions_per_second=count / seconds,
                events_per_transaction=machine.env.events / count,
                timeout_ns=timeout * 1e9,
                timeouts_per_transaction=seconds / count / timeout,
                aim=case.aim,
            )
        )
    return sorted(prices, key=lambda price: price.timeouts_per_transaction)[repeats // 2]


def main() -> None:
    """Measure all cases and print them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each case (default 3)")
    arguments = parser.parse_args()
    prices = [measure(case, arguments.repeats) for case in CASES]
    if arguments.json:
        print(json.dumps({"model": MODEL, "prices": [asdict(price) for price in prices]}))
        return
    table = Table(title=f"price of a transaction on {MODEL}, in bare SimPy timeouts")
    table.add_column("case", no_wrap=True)
    for heading in ("count", "a second", "events", "timeout", "price", "aim"):
        table.add_column(heading, justify="right", no_wrap=True)
    for price in prices:
        table.add_row(
            price.case,
            f"{price.transactions:,}",
            f"{price.transactions_per_second:,.0f}",
            f"{price.events_per_transaction:.2f}",
            f"{price.timeout_ns:.0f} ns",
            f"{price.timeouts_per_transaction:.1f}",
            f"≤ {price.aim:g}",
        )
    Console().print(table)


if __name__ == "__main__":
    main()
