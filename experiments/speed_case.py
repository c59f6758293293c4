"""One case of `experiments.speed`, run once in a process of its own.

Run with ``python experiments/speed_case.py CASE [--interpreted]``: it prints one JSON object.  With
``--interpreted``, the modules of gpusim are imported from their sources, although compiled ones may
lie beside them.  With ``--count LIBRARY``, it is counted what the run allocates
(`experiments.allocations`).  Other options make a case longer, or its machine another one
(`experiments.growth`).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Generator, Iterator, Sequence
from ctypes import PyDLL, c_longlong
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, SourceFileLoader

import numpy as np
import simpy
from attrs import define, frozen

if "--interpreted" in sys.argv:  # before gpusim is imported
    _from_source = FileFinder.path_hook((SourceFileLoader, SOURCE_SUFFIXES))

    def _only_gpusim(place: str) -> object:
        if "gpusim" not in place:
            raise ImportError
        return _from_source(place)

    sys.path_hooks.insert(0, _only_gpusim)  # type: ignore[arg-type]

from gpusim.core.process_memory import peak_bytes
from gpusim.core.version import form
from gpusim.core.warp_program import Launch
from gpusim.machine import Machine, Tenant
from gpusim.machine.load import load_model
from gpusim.programs.device import DeviceArray
from gpusim.programs.kernel import Kernel, Program
from gpusim.programs.tracer import BlockTracer, Shape
from gpusim.runs.run import run_machine
from gpusim.runs.tenants import assign_sms
from gpusim.workloads.workload import load_workload

BLOCKS, THREADS = 64, 256
TIMEOUTS, TIMEOUT_PROCESSES = 300_000, 1000


@frozen
class Case:
    """What is run.

    Attributes:
        model, variants: the machine.
        iterations: of the kernel `Loads`; 0: the case is a workload.
        workload, overrides: which one, at scale smoke.
    """

    model: str = "kepler-uvm"
    variants: tuple[str, ...] = ()
    iterations: int = 0
    workload: str = ""
    overrides: tuple[tuple[str, int], ...] = ()


CASES = {
    "hit-heavy": Case(iterations=400),
    "tlb-miss-heavy": Case(iterations=120),
    "dram-heavy": Case(iterations=60, variants=("huge-pages",)),
    "graph": Case(workload="bfs", overrides=(("graph.vertices", 8000),)),
    "pair under mask": Case("maxwell-mask", ("mask",), workload="HISTO_GUP"),
    "mix under star": Case("a100-mig", ("star",), workload="W1"),
}


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
    iterations: int

    def body(self, k: BlockTracer) -> Iterator[None]:
        generator = np.random.default_rng(k.bx)
        words = 1024
        for i in range(self.iterations):
            if self.name == "hit-heavy":
                index = k.tid + 256 * (i % 4)
            elif self.name == "tlb-miss-heavy":
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

    def __init__(self, name: str, iterations: int) -> None:
        super().__init__(name)
        self.iterations = iterations
        words = BLOCKS * THREADS * iterations * 4 if name == "dram-heavy" else 1 << 18
        self.data = self.memory.allocate("data", np.zeros(words, dtype=np.float32))

    def launches(self) -> Iterator[Launch]:
        yield Loads(
            shape=Shape((BLOCKS, 1, 1), (THREADS, 1, 1)),
            name=self.name,
            registers_per_thread=16,
            data=self.data,
            iterations=self.iterations,
        )


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


def machine_of(name: str, iterations: int = 0, settings: Sequence[str] = ()) -> Machine:
    """The machine of a case, ready to run.

    Args:
        name: of the case.
        iterations: of its kernel; 0: as many as the case has.
        settings: of the model, ``"KEY=VALUE"`` each.
    """
    case = CASES[name]
    overrides = dict(setting.split("=", 1) for setting in settings)
    model = load_model(case.model, case.variants, overrides)
    if case.workload:
        workload = load_workload(case.workload, "smoke", overrides=dict(case.overrides))
        return Machine(model.config, assign_sms(model, workload), workload.seed)
    program = Stream(name, iterations or case.iterations)
    return Machine(model.config, [Tenant(name, program, range(model.config.sm.count))], seed=0)


def run_counted(machine: Machine, library: str) -> dict[str, int]:
    """Run a machine, and count its allocations, and the integers among them.

    Args:
        machine: ready to run.
        library: the path of what `experiments.allocations` has compiled.
    """
    counter = PyDLL(library)
    counter.allocations.restype = counter.boxed_integers.restype = c_longlong
    counter.count_from_now()
    run_machine(machine)
    counter.count_no_longer()
    return {"allocations": counter.allocations(), "boxes": counter.boxed_integers()}


def run_once() -> None:
    """Run a case between two measurements of the unit, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("case", choices=CASES)
    parser.add_argument("--interpreted", action="store_true")
    parser.add_argument("--count", default="", help="what counts allocations")
    parser.add_argument("--iterations", type=int, default=0)
    parser.add_argument("--set", action="append", default=[])
    arguments = parser.parse_args()
    before = bare_timeout_seconds()
    machine = machine_of(arguments.case, arguments.iterations, arguments.set)
    memory = peak_bytes()
    counts: dict[str, int] = {}
    started = time.process_time()
    if arguments.count:
        counts = run_counted(machine, arguments.count)
    else:
        run_machine(machine)
    seconds = time.process_time() - started
    found = {
        "form": form(),
        "seconds": seconds,
        "transactions": machine.transactions,
        "events": machine.env.events,
        "cycles": machine.env.now,
        **counts,
        "kilobytes": (peak_bytes() - memory) // 1024,
        "timeout_seconds": (before + bare_timeout_seconds()) / 2,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    run_once()
