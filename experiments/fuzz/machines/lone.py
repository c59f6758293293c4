"""One warp whose loads come one by one, on a machine without mechanisms: much is known of it."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import gpusim
from experiments.fuzz.machines.designs import Design
from experiments.fuzz.machines.programs import lone_addresses, lone_workload
from gpusim.config.recipe import recipe_names
from gpusim.results.result import Result
from gpusim.studies.characterize import Design as TlbDesign
from gpusim.studies.characterize import characterize_tlbs

Settings = dict[str, Any]


def larger_tables(random: Random, _design: Design, _result: Result) -> Iterator[str]:
    """More ways of an LRU table never mean fewer hits."""
    settings, addresses = _machine(random), lone_addresses(random)
    what = random.choice(("tlb.L1", "tlb.L2", "l1", "l2", "walk.cache"))
    ways, sets = random.choice((1, 2, 4)), random.choice((1, 2, 8))
    hits = []
    for times in (1, 2, 4):
        size = _size(what, ways * times, sets)
        counted = _hits({**settings, **size}, addresses)
        hits.append(counted[what])
    if sorted(hits) != hits:
        yield f"hits of {ways} ways of {what}, of twice and of four times as many: {hits}"


def _size(what: str, ways: int, sets: int) -> Settings:
    if what.startswith("tlb"):
        return {f"{what}.ways": ways, f"{what}.entries": ways * sets}
    if what == "walk.cache":
        return {"walk.cache.entries": ways, "walk.cache.ways": 0}
    size = ways * sets * 128 * (2 if what == "l2" else 1)
    return {f"{what}.ways": ways, f"{what}.size": size}


def as_naive_tables(random: Random, _design: Design, _result: Result) -> Iterator[str]:
    """Hits of TLBs and caches are those of lists, the least recently used first."""
    settings, addresses = _machine(random), lone_addresses(random)
    shapes: dict[str, tuple[list[list[int]], int]] = {}
    for what in ("tlb.L1", "tlb.L2", "l1"):
        ways, sets = random.choice((1, 2, 4)), random.choice((1, 2, 8))
        shapes[what] = [[] for _ in range(sets)], ways
        settings |= _size(what, ways, sets)
    expected = dict.fromkeys(shapes, 0)
    for address in addresses:
        page, line = address >> 12, address >> 7
        if _naive(*shapes["tlb.L1"], page):
            expected["tlb.L1"] += 1
        else:
            expected["tlb.L2"] += _naive(*shapes["tlb.L2"], page)
        expected["l1"] += _naive(*shapes["l1"], line)
    found = _hits(settings, addresses)
    for what, hits in expected.items():
        if what == "l1" and settings["l1.translation"] == "parallel":
            continue  # after a TLB miss it is asked anew
        if found[what] != hits:
            yield f"{what} has {found[what]} hits, lists have {hits}"


def _naive(sets: list[list[int]], ways: int, tag: int) -> bool:
    """Look a tag up, and put it last."""
    own = sets[tag % len(sets)]
    hit = tag in own
    if hit:
        own.remove(tag)
    elif len(own) == ways:
        own.pop(0)
    own.append(tag)
    return hit


def ideal_is_no_slower(random: Random, _design: Design, _result: Result) -> Iterator[str]:
    """Without misses of TLBs it is no slower.

    Where DRAM's latency is fixed: else a walk may leave a row open, or move a refresh.
    """
    settings, addresses = _machine(random), lone_addresses(random)
    cycles = {}
    for name in ("ideal-dram", "ideal-dram+ideal-tlb", "ideal-dram+ideal-l2-tlb"):
        cycles[name] = _run(settings, addresses, name).summary["cycles"]
    if max(cycles.values()) > cycles["ideal-dram"]:
        yield f"an ideal TLB is slower: {cycles}"


_LATENCIES = (
    "l1.latency",
    "l2.latency",
    "tlb.L1.latency",
    "tlb.L2.latency",
    "tlb.L2.trip",
    "walk.trip",
    "crossbar.latency",
    "walk.latency",
    "walk.cache.latency",
    "dram.ideal_latency",
    "l2.entry",
    "dram.trip",
)


def slower_parts(random: Random, _design: Design, _result: Result) -> Iterator[str]:
    """A longer latency of a part never makes it faster, nor a larger one of it change its hits."""
    settings, addresses = _machine(random), lone_addresses(random)
    key = random.choice(_LATENCIES)
    found = []
    for latency in sorted(random.sample((1, 2, 5, 17, 60, 300), 2)):
        with _run({**settings, key: f"{latency} cycles"}, addresses, "ideal-dram") as result:
            found.append((result.summary["cycles"], latency))
    if found[0][0] > found[1][0]:
        yield f"{key}: {found}, cycles and latency"


def more_at_once(random: Random, _design: Design, _result: Result) -> Iterator[str]:
    """More loads at a time do not make it slower on a machine with a fixed time for each part."""
    settings, addresses = _machine(random), lone_addresses(random, far=False)
    settings |= {"walk.cost": "fixed", "tlb.L2.entries": 64, "tlb.L2.ways": 64}
    settings |= {"tlb.L1.entries": 64, "tlb.L1.ways": 64, "l1.size": "64KiB", "l1.ways": 512}
    cycles = [_run(settings, addresses, "ideal-dram", many).summary["cycles"] for many in (1, 4)]
    if cycles[1] > cycles[0]:
        yield f"one load at a time takes {cycles[0]} cycles, four at a time {cycles[1]}"


_AT_FIRST_TOUCH = {"tlb-colt"}
"""Recipes for which it matters that a page is mapped when it is walked: without a clock, those of
some steps are mapped before."""


def without_a_clock(random: Random, _design: Design, _result: Result) -> Iterator[str]:
    """TLBs without a clock are asked for, and have, what those of the run do, with any recipe."""
    settings, addresses = _machine(random), lone_addresses(random)
    for what in ("tlb.L1", "tlb.L2"):
        settings |= _size(what, random.choice((1, 2, 4)), random.choice((1, 2, 8)))
    recipe = random.choice(["", *sorted({*recipe_names()} - _AT_FIRST_TOUCH)])
    model = gpusim.load_model("tiny", [recipe] if recipe else [], overrides=settings)
    counted = characterize_tlbs(lone_workload(addresses), [TlbDesign("it", model)])["it"]
    with _run(settings, addresses, recipe) as result:
        for level in counted.levels:
            total = level.total
            rows = result.counters[result.counters["component"] == f"tlb/{level.name}"]
            for name, number in (
                ("lookups", total.lookups),
                ("hits", total.lookups - total.misses),
            ):
                found = int(rows["value"][rows["counter"] == name].sum())
                if found != number:
                    yield (
                        f"{level.name} with {recipe or 'no recipe'} has {number} {name} without a "
                        f"clock, {found} in the run"
                    )


def _run(settings: Settings, addresses: list[int], recipe: str = "", in_flight: int = 1) -> Result:
    recipes = [recipe] if recipe else []
    model = gpusim.load_model("tiny", recipes, overrides=settings)
    return gpusim.simulate(model, lone_workload(addresses, in_flight))


_PATHS = {"tlb.L1": "tlb/L1", "tlb.L2": "tlb/L2", "l1": "l1", "l2": "l2", "walk.cache": "walk"}


def _hits(settings: Settings, addresses: list[int]) -> dict[str, int]:
    """Hits of each table."""
    with _run(settings, addresses) as result:
        rows = result.counters
        found = {}
        for what, path in _PATHS.items():
            counter = "cache_hits" if what == "walk.cache" else "hits"
            own = rows[(rows["component"] == path) & (rows["counter"] == counter)]
            found[what] = int(own["value"].sum())
    return found


def _machine(random: Random) -> Settings:
    """Settings of a machine for one warp: other sizes and latencies, LRU everywhere."""
    return {
        "tlb.L2.entries": random.choice((16, 32, 64)),
        "tlb.L2.latency": f"{random.choice((1, 10, 60))} cycles",
        "walk.walkers": random.choice((1, 2)),
        "walk.cost": random.choice(("memory", "fixed", "per-level")),
        "walk.memory": random.choice(("l2", "dram")),
        "l1.translation": random.choice(("before", "parallel", "virtually-indexed")),
        "l2.latency": f"{random.choice((1, 10, 100))} cycles",
        "sm.lsu_width": random.choice((1, 2)),
        "l2.page_table_reads": random.choice(("first", "in-order")),
    }


LONE = {
    larger_tables: 4,
    as_naive_tables: 5,
    ideal_is_no_slower: 3,
    slower_parts: 4,
    more_at_once: 2,
    without_a_clock: 3,
}
"""Relations of such machines, and how often each is tried."""
