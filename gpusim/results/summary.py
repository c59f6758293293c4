"""Headline numbers of a run, computed from its counters and state sums.

A number that does not exist is left out: its component is not there (an ideal machine), or it
would be a division by zero (the hit rate of a TLB that was never asked).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import fsum

import numpy as np
from attrs import Factory, define
from numpy.typing import NDArray

from gpusim.core.counters import CounterRow, ratio
from gpusim.core.states import State
from gpusim.results.run_data import ApplicationFacts, SummaryValue

Number = int | float | None

FRACTION = "fraction"
"""Unit of shares and hit rates, from 0 to 1."""


def headline(
    counters: Iterable[CounterRow], state_sums: NDArray[np.int64], states: Sequence[str],
    applications: Sequence[ApplicationFacts], cycles: int, core_hertz: int,
) -> list[SummaryValue]:  # fmt: skip
    """The headline numbers of a run, and, if several applications share the GPU, of each.

    Args:
        counters: all counters.
        state_sums: (SMs, applications, states) warp-cycles.
        states: names of the states.
        applications: in the order of their indices.
        cycles: length of the run.
        core_hertz: core clock.

    Returns:
        Numbers of the whole run; then those of each application, with ``"<name>/"`` in front and
        up to the end of its first complete run.
    """
    rows = list(counters)
    sums = state_sums.sum(axis=0)
    found = _headline(rows, sums.sum(axis=0), states, cycles, core_hertz, "")
    if len(applications) > 1:
        for app, own_sums in zip(applications, sums, strict=True):
            own = [row for row in rows if row.app == app.name]
            found += _headline(own, own_sums, states, app.end, core_hertz, f"{app.name}/")
    return found


@define
class _Sums:
    """Counters summed over instances and applications, and the numbers made of them.

    Attributes:
        prefix: in front of every name.
        total: by component and counter.
        single: by component, instance and counter.
        values: the numbers so far.
    """

    prefix: str
    total: dict[tuple[str, str], int] = Factory(lambda: defaultdict(int))
    single: dict[tuple[str, int, str], int] = Factory(lambda: defaultdict(int))
    values: list[SummaryValue] = Factory(list)

    def collect(self, rows: Iterable[CounterRow]) -> None:
        """Sum up counters."""
        for row in rows:
            self.total[row.component, row.name] += row.value
            self.single[row.component, row.instance, row.name] += row.value

    def get(self, component: str, *counters: str) -> int | None:
        """Sum of some counters of a component; None if it lacks one."""
        if any((component, counter) not in self.total for counter in counters):
            return None
        return sum(self.total[component, counter] for counter in counters)

    def most(self, component: str, counter: str) -> int | None:
        """The largest of a counter over the instances of a component that have it."""
        return max(
            (
                value
                for (where, _, name), value in self.single.items()
                if (where, name) == (component, counter)
            ),
            default=None,
        )

    def rates(self, component: str, part: str, whole: str) -> list[float]:
        """``part / whole`` of each instance that has it."""
        rates = (
            ratio(self.single[component, instance, part], value)
            for (where, instance, counter), value in list(self.single.items())
            if where == component and counter == whole
        )
        return [rate for rate in rates if rate is not None]

    def add(self, name: str, value: Number, unit: str, description: str) -> None:
        """A headline number, unless it does not exist."""
        if value is not None:
            self.values.append(SummaryValue(self.prefix + name, value, unit, description))


def _less(whole: int | None, part: int | None) -> int | None:
    return None if whole is None or part is None else whole - part


def _headline(
    rows: Sequence[CounterRow], sums: NDArray[np.int64], states: Sequence[str], cycles: int,
    core_hertz: int, prefix: str,
) -> list[SummaryValue]:  # fmt: skip
    found = _Sums(prefix)
    found.collect(rows)
    found.add("cycles", cycles, "cycles", "length of the run")
    found.add("core_clock", core_hertz, "Hz", "core clock, the unit of cycles")
    found.add("time", cycles / core_hertz, "s", "simulated time")
    _add_program(found, cycles)
    for component in dict.fromkeys(row.component for row in rows):
        if component.startswith("tlb/"):
            _add_tlb(found, component, cycles)
    _add_walks(found, cycles)
    _add_caches(found)
    _add_virtual_caches(found)
    _add_page_table(found)
    _add_dram(found, cycles, core_hertz)
    _add_states(found, sums, states)
    return found.values


def _add_program(found: _Sums, cycles: int) -> None:
    instructions = found.get("sm", "instructions")
    memory = found.get("sm", "memory_instructions")
    transactions = found.get("sm", "transactions")
    found.add("instructions", instructions, "1", "warp instructions issued")
    found.add("ipc", ratio(instructions, cycles), "1/cycle", "warp instructions a cycle")
    found.add("memory_instructions", memory, "1", "loads, stores and atomics of warps")
    found.add("transactions", transactions, "1", "coalesced memory transactions")
    found.add(
        "transactions_per_instruction", ratio(transactions, memory), "1",
        "transactions a memory instruction",
    )  # fmt: skip


def _add_tlb(found: _Sums, component: str, cycles: int) -> None:
    level = component.removeprefix("tlb/")
    name = f"tlb_{level}"
    lookups, hits = found.get(component, "lookups"), found.get(component, "hits")
    misses = found.get(component, "misses")
    rates = found.rates(component, "hits", "lookups")
    found.add(f"{name}_lookups", lookups, "1", f"{level} TLB lookups")
    pooled = f"{level} TLB hit rate, all TLBs together"
    found.add(f"{name}_hit_rate", ratio(hits, lookups), FRACTION, pooled)
    found.add(
        f"{name}_hit_rate_mean", ratio(fsum(rates), len(rates)), FRACTION,
        f"{level} TLB hit rate, mean over the TLBs asked",
    )  # fmt: skip
    found.add(
        f"{name}_bypass_hit_rate",
        ratio(found.get(component, "bypass_hits"), found.get(component, "bypass_probes")), FRACTION,
        f"{level} TLB bypass cache: hit rate",
    )  # fmt: skip
    found.add(
        f"{name}_mpki", ratio(misses, found.get("sm", "instructions"), 1000), "1",
        f"{level} TLB misses per 1000 warp instructions",
    )  # fmt: skip
    found.add(
        f"{name}_queueing",
        ratio(found.get(component, "queue_cycles"), found.get(component, "queued")), "cycles",
        f"time that a lookup queues for the {level} TLB",
    )  # fmt: skip
    waits = f"warps that wait for a long {level} TLB miss"
    warps, misses = found.get(component, "long_miss_warps"), found.get(component, "long_misses")
    found.add(f"{name}_stalled_warps", ratio(warps, misses), "1", f"{waits}, mean")
    found.add(
        f"{name}_stalled_warps_max", found.most(component, "most_miss_warps"), "1", f"{waits}, most"
    )
    found.add(
        f"{name}_long_misses", ratio(found.get(component, "long_miss_cycles"), cycles), "1",
        f"long {level} TLB misses under way, mean over time",
    )  # fmt: skip
    found.add(
        f"{name}_utilisation", _utilisation(found, component), FRACTION,
        f"sub-entries in use of the {level} TLB entries that were evicted, mean",
    )  # fmt: skip


def _utilisation(found: _Sums, component: str) -> float | None:
    """Mean over the entries that a TLB evicted (`gpusim.hardware.tlb.utilisation`)."""
    evicted: list[int] = []
    while (entries := found.get(component, f"evicted_with_{len(evicted) + 1}")) is not None:
        evicted.append(entries)
    pages = sum(used * entries for used, entries in enumerate(evicted, 1))
    return ratio(pages, len(evicted) * sum(evicted))


def _add_walks(found: _Sums, cycles: int) -> None:
    walks = found.get("walk", "walks")
    found.add("walks", walks, "1", "page walks")
    found.add(
        "walk_latency", ratio(found.get("walk", "walk_cycles"), walks), "cycles",
        "walk latency, from getting a walker to the end",
    )  # fmt: skip
    found.add(
        "walk_queueing", ratio(found.get("walk", "queue_cycles"), walks), "cycles",
        "time that a walk queues for a walker",
    )  # fmt: skip
    found.add(
        "concurrent_walks", ratio(found.get("walk", "walk_cycles"), cycles), "1",
        "page walks under way, mean over time",
    )  # fmt: skip
    found.add(
        "concurrent_walks_max", found.get("walk", "most_walks"), "1",
        "most page walks under way at once",
    )  # fmt: skip
    found.add(
        "walk_levels", ratio(found.get("walk", "level_accesses"), walks), "1",
        "page-table levels that a walk reads",
    )  # fmt: skip
    found.add(
        "walk_cache_hit_rate",
        ratio(found.get("walk", "cache_hits"), found.get("walk", "cache_lookups")), FRACTION,
        "walk cache hit rate, hits / probes",
    )  # fmt: skip


def _add_caches(found: _Sums) -> None:
    for cache, name in (("l1", "L1"), ("l2", "L2")):
        rate = ratio(found.get(cache, "hits"), found.get(cache, "lookups"))
        found.add(f"{cache}_hit_rate", rate, FRACTION, f"{name} cache hit rate")
    walk_hits, walk_lookups = (
        found.get("l2", "translation_hits"), found.get("l2", "translation_lookups"),
    )  # fmt: skip
    found.add(
        "l2_translation_hit_rate", ratio(walk_hits, walk_lookups), FRACTION,
        "L2 cache hit rate of page-table reads",
    )  # fmt: skip
    found.add(
        "l2_data_hit_rate",
        ratio(
            _less(found.get("l2", "hits"), walk_hits),
            _less(found.get("l2", "lookups"), walk_lookups),
        ), FRACTION, "L2 cache hit rate of data",
    )  # fmt: skip


def _add_virtual_caches(found: _Sums) -> None:
    synonyms = ratio(found.get("fbt", "synonyms"), found.get("fbt", "lookups"))
    found.add("fbt_synonyms", synonyms, FRACTION, "L2 misses under names that do not lead")
    found.add("fbt_evictions", found.get("fbt", "evictions"), "1", "pages evicted from the FBT")
    told = found.get("l1", "invalidations")
    found.add(
        "l1_invalidations_filtered", ratio(_less(told, found.get("l1", "flushes")), told), FRACTION,
        "page invalidations that L1 caches filtered",
    )  # fmt: skip
    found.add(
        "probes_filtered", ratio(found.get("fbt", "probes_filtered"), found.get("fbt", "probes")),
        FRACTION, "probes of CPUs that the FBT filtered",
    )  # fmt: skip


def _add_page_table(found: _Sums) -> None:
    """Page-table reads by level, where they go to the L2 cache."""
    levels = [name for name, counter in found.total if counter == "l2_bypassed"]
    past = sum(found.total[level, "l2_bypassed"] for level in levels)
    for level in levels:
        number = level.removeprefix("page_table/level")
        rate = ratio(found.get(level, "l2_hits"), found.get(level, "l2_lookups"))
        found.add(
            f"l2_level{number}_hit_rate", rate, FRACTION,
            f"L2 hit rate of reads of page-table level {number}",
        )  # fmt: skip
    reads = past + sum(found.total[level, "l2_lookups"] for level in levels)
    found.add(
        "l2_bypassed", ratio(past, reads), FRACTION,
        "page-table reads that went past the L2 cache",
    )  # fmt: skip


def _add_dram(found: _Sums, cycles: int, core_hertz: int) -> None:
    classes = ("data_reads", "walk_reads")
    reads = found.get("dram", *classes)
    found.add("dram_reads", reads, "1", "DRAM reads, those of page walks included")
    found.add("dram_data_reads", found.get("dram", classes[0]), "1", "DRAM reads of data")
    found.add(
        "dram_translation_reads", found.get("dram", classes[1]), "1",
        "DRAM reads of the page table",
    )  # fmt: skip
    found.add("dram_writes", found.get("dram", "writes"), "1", "DRAM writes")
    found.add(
        "dram_row_hit_rate",
        ratio(
            found.get("dram", "row_hits"),
            found.get("dram", "row_hits", "row_misses", "row_conflicts"),
        ), FRACTION, "DRAM requests that found their row open",
    )  # fmt: skip
    for name, counters, what in (
        ("dram_bandwidth", ("data_read_bytes", "walk_read_bytes", "write_bytes"), ""),
        ("dram_data_bandwidth", ("data_read_bytes", "write_bytes"), ", data"),
        ("dram_translation_bandwidth", ("walk_read_bytes",), ", page table"),
    ):
        moved = found.get("dram", *counters)
        rate = ratio(moved, cycles, core_hertz / 1e9)
        found.add(name, rate, "GB/s", f"DRAM bandwidth used{what}")
    for name, kinds, what in (
        ("dram_latency", (0, 1), ""),
        ("dram_data_latency", (0,), ", data"),
        ("dram_translation_latency", (1,), ", page table"),
    ):
        waits = ("data_latency_cycles", "walk_latency_cycles")
        spent = found.get("dram", *(waits[kind] for kind in kinds))
        asked = found.get("dram", *(classes[kind] for kind in kinds))
        latency = ratio(spent, asked)
        found.add(name, latency, "cycles", f"DRAM read latency{what}")


def _add_states(found: _Sums, sums: NDArray[np.int64], states: Sequence[str]) -> None:
    total = int(sums.sum())
    found.add("warp_cycles", total, "warp-cycles", "lives of all warps, in cycles")
    translation = sum(int(sums[state]) for state in range(State.WALKER, len(states)))
    found.add(
        "share_translation", ratio(translation, total), FRACTION,
        "share of warp-cycles waiting for translation",
    )  # fmt: skip
    for state, cycles in zip(states, sums.tolist(), strict=True):
        found.add(
            f"share_{state}", ratio(cycles, total), FRACTION,
            f"share of warp-cycles in the state {state!r}",
        )  # fmt: skip
