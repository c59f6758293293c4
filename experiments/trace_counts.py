"""What a machine counts while it replays a trace, what MGPUSim counted, and what a replay counts.

All three come as `Figures`: a number for each of `NAMES`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from attrs import evolve, frozen

from experiments.trace_replay import Columns, Counts, Emptied
from gpusim.config.load import LoadedModel
from gpusim.core.errors import UserError
from gpusim.core.request import Kind, MemoryRequest
from gpusim.core.states import State
from gpusim.core.untrusted import untrusted
from gpusim.core.warp_program import Application, Launch
from gpusim.hardware.cache import L2Bank
from gpusim.hardware.cache.array import DIRTY, CacheArray
from gpusim.machine import Machine
from gpusim.runs.run import run_machine
from gpusim.runs.tenants import assign_sms
from gpusim.traces.options import RECORDED
from gpusim.workloads.workload import load_workload

Figures = dict[str, float]

NAMES = {
    "L1 TLB hits": "L1 TLB",
    "L1 TLB misses": "L1 TLB",
    "L2 TLB hits": "L2 TLB",
    "L2 TLB misses": "L2 TLB",
    "page walks": "L2 TLB",
    "L1 read hits": "L1",
    "L1 read misses": "L1",
    "L1 write hits": "L1",
    "L1 write misses": "L1",
    "L2 read hits": "L2",
    "L2 read misses": "L2",
    "L2 write hits": "L2",
    "L2 write misses": "L2",
    "DRAM reads": "DRAM",
    "DRAM writes": "DRAM",
    "scalar TLB hits": "scalar TLB",
    "scalar TLB misses": "scalar TLB",
    "scalar hits": "scalar",
    "scalar misses": "scalar",
    "instruction TLB hits": "instruction TLB",
    "instruction TLB misses": "instruction TLB",
    "instruction misses": "instruction",
}
"""The counts that are compared, and the unit of each; hits include what is merged into a miss.

Hits of the instruction cache are not: MGPUSim asks again for lines that are in instruction buffers
already, after each branch, of which a trace tells nothing."""

_LAUNCH_CYCLES = 8000
"""More than MGPUSim's driver takes between two kernels, without a copy: 6591 cycles if the code is
there, 7797 to 7839 if it is loaded.  With copies they were 8786 or more apart."""

_COLUMNS = (
    "kernel",
    "cu",
    "wavefront",
    "order",
    "inst",
    "pc",
    "vaddr",
    "is_write",
    "used_bytes",
    "issue_time",
    "page_vaddr",
    "page_paddr",
)


@frozen(eq=False)
class Trace:
    """A trace of MGPUSim and what it counted.

    Attributes:
        path: of the table.
        columns: of the table, as far as replays need them.
        counters: by unit and name, summed over units.
        cycles: of all kernels.
        copied: launches before which the host copied, which empties all caches.
    """

    path: Path
    columns: Columns
    counters: dict[str, dict[str, int]]
    cycles: int
    copied: frozenset[int]

    @property
    def name(self) -> str:
        """The name of the trace."""
        return self.path.stem

    def counter(self, unit: str, *names: str) -> int:
        """The sum of some counters of MGPUSim."""
        try:
            return sum(int(self.counters[unit][name]) for name in names)
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(
                f"{self.path.with_suffix('.json')}: mgpusim_counters.{unit} has no number "
                f"{error.args[0]!r}"
            ) from error


def read_trace(path: Path) -> Trace:
    """A trace with its counters.

    Raises:
        UserError: something is missing or damaged.
    """
    side = path.with_suffix(".json")
    try:
        recorded = json.loads(side.read_text(encoding="utf-8"))
        counters = recorded["mgpusim_counters"]
        cycles = int(counters["Driver"]["kernel_cycles_1GHz"])
        copied = _copied(recorded.get("kernels", ()))
    except OSError as error:
        raise UserError(f"{side}: {error.strerror}") from error
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{side}: damaged, or without MGPUSim's counters: {error}") from error
    with (
        untrusted(f"{path}:", "damaged, or without a column of MGPUSim's"),
        np.load(path, allow_pickle=False) as table,
    ):
        columns = {name: table[name].astype(np.int64) for name in _COLUMNS}
    return Trace(path, columns, counters, cycles, copied)


def _copied(kernels: Sequence[Mapping[str, int]]) -> frozenset[int]:
    """Launches before which the host copied, by the time since the launch before has ended."""
    return frozenset(
        number
        for number, (before, kernel) in enumerate(pairwise(kernels), start=1)
        if "first_wg_dispatch_cycle" in kernel
        and kernel["first_wg_dispatch_cycle"] - before["last_wavefront_end_cycle"] > _LAUNCH_CYCLES
    )


def reference_figures(trace: Trace) -> Figures:
    """What MGPUSim counted."""
    count = trace.counter
    return {
        "L1 TLB hits": count("L1VTLB", "hit", "mshr-hit"),
        "L1 TLB misses": count("L1VTLB", "miss"),
        "L2 TLB hits": count("L2TLB", "hit", "mshr-hit"),
        "L2 TLB misses": count("L2TLB", "miss"),
        "page walks": count("L2TLB", "miss"),
        "L1 read hits": count("L1VCache", "read-hit", "read-mshr-hit"),
        "L1 read misses": count("L1VCache", "read-miss"),
        "L1 write hits": count("L1VCache", "write-hit", "write-mshr-hit"),
        "L1 write misses": count("L1VCache", "write-miss"),
        "L2 read hits": count("L2Cache", "read-hit", "read-mshr-hit"),
        "L2 read misses": count("L2Cache", "read-miss"),
        "L2 write hits": count("L2Cache", "write-hit", "write-mshr-hit"),
        "L2 write misses": count("L2Cache", "write-miss"),
        "DRAM reads": count("DRAM", "read_trans_count"),
        "DRAM writes": count("DRAM", "write_trans_count"),
        "scalar TLB hits": count("L1STLB", "hit", "mshr-hit"),
        "scalar TLB misses": count("L1STLB", "miss"),
        "scalar hits": count("L1SCache", "read-hit", "read-mshr-hit"),
        "scalar misses": count("L1SCache", "read-miss"),
        "instruction TLB hits": count("L1ITLB", "hit", "mshr-hit"),
        "instruction TLB misses": count("L1ITLB", "miss"),
        "instruction misses": count("L1ICache", "read-miss"),
    }


class _StoreWatch(CacheArray):
    """An L1 array that counts the stores (which want no sectors) that find their line."""

    __slots__ = ("hits",)

    def __init__(self, lines: int, ways: int) -> None:
        super().__init__(lines, ways)
        self.hits = 0

    def missing(self, line: int, sectors: int) -> int:
        if not sectors and super().missing(line, 1) == 0:
            self.hits += 1
        return super().missing(line, sectors)


class LateWatch(CacheArray):
    """An L2 array that counts hits on lines that would be gone if places were given at the miss.

    A line that is missed takes its place when it arrives; MGPUSim's directory gives it away at
    once, so that the line which has to leave is not found meanwhile.

    Attributes:
        early: the lines that would be there.
        late_hits: lookups that found their line here alone.
    """

    __slots__ = ("early", "late_hits")

    def __init__(self, array: CacheArray) -> None:
        shape = array.sets * array.ways, array.ways, array._interleave
        super().__init__(*shape)
        self.take_over(array)
        self.early = CacheArray(*shape)
        self.late_hits = 0

    def missing(self, line: int, sectors: int) -> int:
        lacks = super().missing(line, sectors)
        if self.early.missing(line, 1):
            self.early.fill(line, 1)
            self.late_hits += not lacks
        return lacks

    def clear(self) -> None:
        self.early.clear()
        super().clear()


@frozen
class Measured:
    """What our machine did with a trace.

    Attributes:
        figures: its counts.
        cycles: until its last warp had ended.
        dropped: dirty lines in the L2 cache when the host's copies emptied it.
        dirty: those at the end.
        late_hits: L2 lookups that found a line only because its place was given away late.
    """

    figures: Figures
    cycles: int
    dropped: int
    dirty: int
    late_hits: int


class _WithCalls:
    """An application before whose launches something is done.

    Args:
        application: as traced.
        before: is given the number of the launch.
    """

    def __init__(self, application: Application, before: Callable[[int], None]) -> None:
        self.name = application.name
        self.buffers = application.buffers
        self._application = application
        self._before = before

    def launches(self) -> Iterator[Launch]:
        """The launches; each is asked for when the one before has drained."""
        for number, launch in enumerate(self._application.launches()):
            self._before(number)
            yield launch


def run_counting(
    machine: Machine, note: Callable[[MemoryRequest, int, int], None]
) -> Counter[tuple[str, str]]:
    """Run a machine; the sums of its counters, by component and name.

    `note` is called for every finished transaction (`LoadStoreUnit.on_request`).
    """
    for sm in machine.sms:
        sm.lsu.on_request.listen(note)
    run_machine(machine)
    sums: Counter[tuple[str, str]] = Counter()
    for row in machine.counter_rows():
        sums[row.component, row.name] += row.value
    return sums


def measured_figures(
    trace: Trace, model: LoadedModel, emptied: Emptied, pace: str = RECORDED
) -> Measured:
    """What our machine counts, and the cycles that it takes, with MGPUSim's turns or its own."""
    workload = load_workload(str(trace.path), overrides={"pace": pace})
    dropped = 0

    def empty(launch: int) -> None:
        nonlocal dropped
        if launch in emptied.l1:
            for cache in (*machine.l1s, *(side.cache for side in machine.sides)):
                cache.clear()
        if launch in emptied.l2:
            dropped += _dirty(machine)
            for array in _arrays(machine):
                array.clear()

    (tenant,) = assign_sms(model, workload)
    application = _WithCalls(tenant.application, empty)
    machine = Machine(model.config, [evolve(tenant, application=application)], workload.seed)
    watches: list[_StoreWatch] = []

    for cache in machine.l1s:
        watches.append(_StoreWatch(cache.array.capacity, cache.array.ways))
        cache.array = cache.held.array = watches[-1]
    for bank in _banks(machine):
        shared = {array: LateWatch(array) for array in dict.fromkeys(bank.arrays.values())}
        for app, array in list(bank.arrays.items()):
            bank.arrays[app] = shared[array]
    stores_missed = 0

    def note(request: MemoryRequest, _issued: int, _answered: int) -> None:
        nonlocal stores_missed
        stores_missed += request.kind == Kind.STORE and _reached_dram(request)

    sums = run_counting(machine, note)
    store_hits = sum(watch.hits for watch in watches)
    figures = _figures(machine, sums, store_hits, stores_missed)
    cycles = max(scheduler.finished_at for scheduler in machine.schedulers)
    late = sum(array.late_hits for array in _arrays(machine) if isinstance(array, LateWatch))
    return Measured(figures, cycles, dropped, _dirty(machine), late)


def _figures(
    machine: Machine, sums: Counter[tuple[str, str]], store_hits: int, stores_missed: int
) -> Figures:
    """The counters of a machine by `NAMES`, and what of its stores no counter tells."""

    def missed(component: str) -> int:
        return sums[component, "misses"] - sums[component, "merged"]

    def of(name: str, component: str) -> dict[str, float]:
        """Hits, merged ones included, and misses of a component."""
        misses = missed(component)
        hits = sums[component, "lookups"] - misses
        return {f"{name} hits": hits, f"{name} misses": misses}

    first, *_, last = (f"tlb/{name}" for name in machine.tlbs)
    loads_passed = sums["l2", "lookups"] - sums["l2", "stores"]
    loads_missed = missed("l2") - stores_missed
    return {
        **of("L1 TLB", first),
        **of("L2 TLB", last),
        "page walks": sums["walk", "walks"],
        **of("L1 read", "l1"),
        "L1 write hits": store_hits,
        "L1 write misses": sums["l1", "stores"] - store_hits,
        "L2 read hits": loads_passed - loads_missed,
        "L2 read misses": loads_missed,
        "L2 write hits": sums["l2", "stores"] - stores_missed,
        "L2 write misses": stores_missed,
        "DRAM reads": sums["dram", "data_reads"],
        "DRAM writes": sums["dram", "writes"],
        **of("scalar TLB", "tlb/scalar"),
        **of("scalar", "scalar"),
        **of("instruction TLB", "tlb/instruction"),
        "instruction misses": missed("instruction"),
    }


def _banks(machine: Machine) -> list[L2Bank]:
    return [bank for system in machine.systems for bank in system.banks]


def _arrays(machine: Machine) -> list[CacheArray]:
    """The arrays of the L2 cache."""
    found = (array for bank in _banks(machine) for array in bank.arrays.values())
    return list(dict.fromkeys(found))


def _dirty(machine: Machine) -> int:
    """Dirty lines in the L2 cache."""
    arrays = _arrays(machine)
    return sum(bool(array.state(line) & DIRTY) for array in arrays for line in array.lines())


def _reached_dram(request: MemoryRequest) -> bool:
    """Whether a finished request was sent to DRAM itself, rather than merged or a hit."""
    return State.DRAM in list(request.trail)[::2]


def replayed_figures(trace: Trace, counts: Counts) -> Figures:
    """What a replay of vector transactions counts; stores of whole lines fetch nothing."""
    rows = len(trace.columns["vaddr"])
    writes = int(trace.columns["is_write"].sum())
    return {
        "L1 TLB hits": rows - counts.l1_tlb_misses,
        "L1 TLB misses": counts.l1_tlb_misses,
        "L2 TLB hits": counts.l1_tlb_misses - counts.l2_tlb_misses,
        "L2 TLB misses": counts.l2_tlb_misses,
        "page walks": counts.l2_tlb_misses,
        "L1 read hits": rows - writes - counts.l1_read_misses,
        "L1 read misses": counts.l1_read_misses,
        "L1 write hits": counts.l1_write_hits,
        "L1 write misses": writes - counts.l1_write_hits,
        "L2 read hits": counts.l1_read_misses - counts.l2_read_misses,
        "L2 read misses": counts.l2_read_misses,
        "L2 write hits": writes - counts.l2_write_misses,
        "L2 write misses": counts.l2_write_misses,
        "DRAM reads": counts.l2_read_misses + counts.l2_partial_misses,
        "DRAM writes": counts.writebacks,
    }
