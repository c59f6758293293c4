"""Random machines: a shipped model, cut small, with recipes, parts and values of others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from random import Random
from types import MappingProxyType
from typing import TypeVar

from attrs import field, frozen

import gpusim
from experiments.fuzz.machines.knobs import (
    Setting,
    choice_keys,
    keys,
    other_value,
    policy_keys,
)
from gpusim.config.layers import variants_of
from gpusim.config.load import LoadedModel
from gpusim.config.recipe import recipe_names
from gpusim.core.errors import UserError
from gpusim.core.registry import Slot, policy_names
from gpusim.files.shipped import data_names, find_data
from gpusim.files.toml_document import read_document

T = TypeVar("T")

_FEW: Mapping[str, Setting] = {
    "sm.count": 2,
    "sms_per_tpc": 1,
    "tpcs_per_gpc": 1,
    "dram.channels": 2,
    "l2.banks": 2,
    "l2.size": "96KiB",
    "memory.size": "512MiB",
}
_NODE: Mapping[str, Setting] = {**_FEW, "l2.size": "64KiB", "node.gpus": 2}

_TWO: Mapping[str, Setting] = {**_FEW, "sm.count": 4, "l2.banks": 4, "l2.size": "128KiB"}
_REACH: Mapping[str, Setting] = {"tlb.L2.entries": 1024}
_SLICES: Mapping[str, Setting] = {
    "sm.count": 14,
    "dram.channels": 7,
    "l2.banks": 7,
    "l2.size": "224KiB",
    "memory.size": "896MiB",
}

SMALLER: Mapping[str, Mapping[str, Setting]] = {
    **{name: _FEW for name in data_names("models") if name != "tiny"},
    "a100": _TWO,
    "a100-mig": _SLICES,
    "b200": _TWO,
    "dgx-a100": _NODE,
    "dgx-h100": _NODE,
    "h100": _TWO,
    "mcm-gpu": _NODE,
    "mgpusim-r9nano-4": {**_NODE, **_REACH},
    "mi210": {**_FEW, **_REACH},
    "mi300x": {**_TWO, **_REACH, "l2.partitions": 2},
    "mi300x-xcds": {**_NODE, **_REACH},
    "r9-nano": {**_FEW, **_REACH},
}
"""Less of the large models, so that building them takes no time."""

_SIDE: Mapping[str, Setting] = {"size": "1KiB", "ways": 2}
_LATENCIES = ("integer", "fp32", "fp64", "special", "tensor")

PARTS: Mapping[str, Mapping[str, Setting]] = {
    **{
        f"{name} cache": {f"{name}.{key}": value for key, value in _SIDE.items()}
        for name in ("scalar", "constant", "read_only", "instruction")
    },
    "scalar TLB": {
        **{f"scalar.{key}": value for key, value in _SIDE.items()},
        "scalar.tlb.entries": 4,
        "scalar.tlb.ways": 2,
    },
    "shootdown": {
        "shootdown.message": "20 cycles",
        "shootdown.drain": "30 cycles",
        "shootdown.acknowledge": "10 cycles",
    },
    "mapping calls": {"mapping_calls.map": "100 cycles", "mapping_calls.unmap": "150 cycles"},
    "memory-side cache": {"dram.memory_side.slice": "8KiB", "dram.memory_side.ways": 4},
    "banked L1": {"l1.banks.tags": 4, "l1.banks.width": "128B"},
    "arithmetic": {f"sm.arithmetic.{name}.latency": 6 for name in _LATENCIES},
    "scoreboard": {"sm.shared_loads": "scoreboard"},
    "sectors": {"l1.sector": "32B", "l2.sector": "32B"},
    "byte masks": {"l1.sector": "32B", "l2.sector": "32B", "l2.byte_masks": True},
    "partial writes": {
        "l1.sector": "32B",
        "l2.sector": "32B",
        "l2.byte_masks": True,
        "l2.partial_writes": "fill",
    },
    "L2 partitions": {"l2.partitions": 2, "l2.far": "30 cycles"},
    "L2 copies": {"l2.partitions": 2, "l2.far": "30 cycles", "l2.copies": "reads"},
    "atomics in turns": {"l2.atomic_interval": 2.0, "l2.atomic_grain": "sector"},
    "write-through L2": {"l2.writes": "through"},
    "virtual L1": {"l1.translation": "after"},
    "virtually indexed L1": {"l1.translation": "virtually-indexed"},
    "lines on miss": {"l1.allocate": "on-miss"},
    "walk cache of lines": {
        "walk.cache.kind": "lines",
        "walk.cache.size": "256B",
        "walk.cache.ways": 0,
        "walk.cache.line": "64B",
    },
    "no walk cache": {"walk.cache": "none"},
    "walks per level": {"walk.cost": "per-level", "walk.latency": "30 cycles"},
    "walks from SMs": {"walk.sent_by": "sms", "walk.cost": "memory", "walk.memory": "l2"},
    "walks in DRAM": {"walk.cost": "memory", "walk.memory": "dram"},
    "mapped ahead": {"memory.mapped": "ahead"},
    "64 KiB pages": {"memory.page": "64KiB"},
    "three levels": {"memory.levels": 3},
    "victims": {"tlb.L1.victims": 2},
    "hit under miss": {"tlb.L1.misses": "hit-under-miss"},
    "hits pass": {"tlb.L1.misses": "hits-pass"},
    "blocking TLB": {"tlb.L1.misses": "lsu-blocking"},
    "no merging": {"tlb.L2.merging": False},
    "blocks end when sent": {"sm.block_end": "sent"},
    "dispatch": {"dispatch": 1},
    "one kernel at a time": {"concurrent_kernels": 1},
    "launch overhead": {"launch_overhead": "300 cycles"},
    "unified L1": {"l1.unified": "20KiB", "l1.carve_outs": "0KiB 8KiB 16KiB"},
    "closed rows": {"dram.page_policy": "closed"},
    "crowded": {
        "sm.lsu_queue": 1,
        "sm.max_loads": 1,
        "sm.store_credits": 1,
        "l1.mshrs": 1,
        "l1.mshr_merge": 1,
        "l2.mshrs": 1,
        "l2.mshr_merge": 1,
        "l2.queue": 1,
        "crossbar.queue": 1,
        "walk.queue": 1,
        "walk.walkers": 1,
        "dram.read_queue": 1,
        "dram.write_queue": 1,
    },
    "no room for pages": {"paging.oversubscription": 3.0, "paging.eviction_block": "8KiB"},
    "little room for pages": {"paging.oversubscription": 1.3, "paging.eviction_block": "4KiB"},
    "few faults": {"paging.fault_buffer": 2, "paging.batch": 1, "paging.utlb_faults": 1},
    "pages that are served": {"paging.replay": "served", "paging.large_pages": True},
    "driver's times": {
        "paging.block_time": "500 cycles",
        "paging.first_touch": "200 cycles",
        "paging.page_time": "50 cycles",
        "paging.interrupt": "300 cycles",
        "paging.fault_interval": "40 cycles",
        "paging.transfers": "blocks",
    },
    "pages by count": {"paging.migration": "accesses", "paging.threshold": 4},
    "pages ask the host": {"paging.host_walk": "100 cycles"},
    "free pages": {"paging.oversubscription": 1.5, "paging.free": 0.2},
    "ring": {"node.link.topology": "ring"},
    "switch": {"node.link.topology": "switch"},
    "mesh of four": {"node.link.topology": "mesh", "node.gpus": 4},
    "three GPUs": {"node.gpus": 3},
    "readers cache": {"node.caching": "reader"},
    "one table of a node": {"node.page_tables": "shared"},
    "copy engines": {"node.copy_engines.count": 1, "node.copy_engines.bandwidth": "32GB/s"},
    "memory first": {"crossbar.order": "memory-first"},
    "fixed moves": {"node.migration.cost": "fixed", "node.migration.latency": "300 cycles"},
}
"""What a model may lack, or have otherwise, by what it is called; of several keys, so that values
near those of a model do not lead there."""

_PAGED = ("demand-paging", "access-counters", "zero-copy", "coherent-host", "second-memory")
_NODES = ("mcm-gpu", "mgpusim-r9nano-4", "mi300x-xcds", "dgx-h100")
_BEFORE = ("sub-entries",)
"""What some recipes need below them."""

_SLOTS: Mapping[str, tuple[Slot, ...]] = {
    "paging": (Slot.PAGE_PREFETCH, Slot.EVICTION, Slot.MIGRATION),
    "node": (
        *(Slot.BLOCK_SHARES, Slot.PAGE_PLACEMENT, Slot.REMOTE_PAGES),
        *(Slot.INVALIDATION, Slot.FORWARDING),
    ),
}
"""By table of a model that may be absent, the slots that are in it."""

_TRIES = 6
_SETTINGS = (0, 0, 1, 2, 4)


@frozen
class MadeModel:
    """A machine, and what it is made of.

    Attributes:
        base: the shipped model.
        recipes: variants of it and recipes, laid over it in order.
        settings: of it, by key.
        parts: names of `PARTS` that are among the settings.
        model: all of that, loaded.
    """

    base: str
    recipes: tuple[str, ...]
    settings: Mapping[str, Setting]
    parts: tuple[str, ...]
    model: LoadedModel = field(eq=False, repr=False)

    @classmethod
    def of(
        cls,
        base: str,
        recipes: tuple[str, ...],
        settings: Mapping[str, Setting],
        parts: tuple[str, ...] = (),
    ) -> MadeModel:
        """The machine of these.

        Raises:
            UserError: there is none.
        """
        return cls(base, recipes, dict(settings), parts, load(base, recipes, settings))


def load(base: str, recipes: tuple[str, ...], settings: Mapping[str, Setting]) -> LoadedModel:
    """A shipped model, cut small, with recipes and settings."""
    if not settings:
        return _laid(base, recipes)
    return gpusim.load_model(base, recipes, overrides={**SMALLER.get(base, {}), **settings})


@lru_cache(maxsize=256)
def _laid(base: str, recipes: tuple[str, ...]) -> LoadedModel:
    return gpusim.load_model(base, recipes, overrides=SMALLER.get(base, {}))


@cache
def variant_names(base: str) -> tuple[str, ...]:
    """The variants that a model file has of its own."""
    return tuple(variants_of(read_document(find_data("models", base))))


def make_model(random: Random, number: int) -> MadeModel:
    """A machine that the checks of models accept, half of them tiny ones.

    Args:
        random: decides.
        number: of the machine: recipes, parts and policies take turns, one of each a machine.
    """
    base, recipes = _recipes(random, number)
    plain = load(base, recipes, {})
    parts = random.sample(_parts_of(plain), random.choice((0, 1, 1, 2)))
    if (part := _in_turn(sorted(PARTS), number)) in _parts_of(plain):
        parts.insert(0, part)
    changes: list[Mapping[str, Setting]] = [PARTS[name] for name in parts]
    changes.extend(_policies(random, plain, number))
    if random.random() < 0.5:
        changes.extend(_small_tlbs(random, plain))
    settings = _accepted(base, recipes, changes)
    whole = load(base, recipes, settings)
    settings = _accepted(base, recipes, list(_values(random, base, whole)), settings)
    there = tuple(name for name in parts if PARTS[name].items() <= settings.items())
    return MadeModel.of(base, recipes, settings, there)


def _values(random: Random, base: str, model: LoadedModel) -> Iterator[Mapping[str, Setting]]:
    """Other values of a machine, some of them of keys that its shipped model does not have."""
    own = sorted({*keys(model)} - {*keys(load(base, (), {}))})
    for names in (choice_keys(model), keys(model), own):
        for key in random.sample(names, min(random.choice(_SETTINGS), len(names))):
            yield {key: other_value(random, model, key)}


def _all_policies() -> list[tuple[Slot, str]]:
    return [(slot, name) for slot in Slot for name in policy_names(slot)]


def _in_turn(names: Sequence[T], number: int) -> T:
    """One of some, which are mixed: those that lie side by side may all be dear."""
    return Random(0).sample(names, len(names))[number % len(names)]


def _policies(random: Random, model: LoadedModel, number: int) -> Iterator[Mapping[str, Setting]]:
    """The policy whose turn it is, where the machine has its slot, and perhaps another one."""
    there = policy_keys(model)
    slot, name = _in_turn(_all_policies(), number)
    own = [key for key, one in there if one == slot]
    if own:
        yield {random.choice(own): name}
    for key, slot in random.sample(there, min(random.choice(_SETTINGS), len(there))):
        yield {key: random.choice(policy_names(slot))}


def _parts_of(model: LoadedModel) -> list[str]:
    """Parts that a machine can have: those of nodes and of paging only where there are some."""
    tables = {"paging.": model.config.paging, "node.": model.config.node}
    lacking = tuple(name for name, table in tables.items() if table is None)
    return [name for name, part in PARTS.items() if not next(iter(part)).startswith(lacking)]


def _recipes(random: Random, number: int) -> tuple[str, tuple[str, ...]]:
    """A model and recipes that it takes; a model that takes the one whose turn it is."""
    wanted = _in_turn(recipe_names(), number)
    part, (slot, _) = PARTS[_in_turn(sorted(PARTS), number)], _in_turn(_all_policies(), number)
    base = _base(random)
    taken: tuple[str, ...] = ()
    tables = {next(iter(part)).partition(".")[0]}
    tables |= {table for table, slots in _SLOTS.items() if slot in slots}
    if "node" in tables:
        base = random.choice(_NODES)
    for _ in range(_TRIES):
        if taken := _taken(base, (), wanted) or _taken(base, _BEFORE, wanted):
            break
        base = _base(random)
    if "paging" in tables or random.random() < 0.15:
        taken = _taken(base, taken, random.choice(_PAGED)) or taken
    if random.random() < 0.15 and variant_names(base):
        taken = _taken(base, taken, random.choice(variant_names(base))) or taken
    for _ in range(random.choice((0, 0, 1, 2))):
        taken = _taken(base, taken, random.choice(recipe_names())) or taken
    return base, taken


def _taken(base: str, recipes: tuple[str, ...], another: str) -> tuple[str, ...]:
    """The recipes with one more; none: the model does not take it."""
    try:
        _laid(base, (*recipes, another))
    except UserError:
        return ()
    return (*recipes, another)


def _base(random: Random) -> str:
    part = random.random()
    if part < 0.5:
        return "tiny"
    return random.choice(_NODES if part < 0.65 else data_names("models"))


def _small_tlbs(random: Random, model: LoadedModel) -> Iterator[Mapping[str, Setting]]:
    """Few sets and ways for each TLB, so that a small program has misses of each kind."""
    for name in model.config.tlb:
        ways = random.choice((1, 2, 4, 8))
        entries = ways * random.choice((1, 2, 8))
        yield {f"tlb.{name}.ways": ways, f"tlb.{name}.entries": entries}


def _accepted(
    base: str,
    recipes: tuple[str, ...],
    changes: Sequence[Mapping[str, Setting]],
    settings: Mapping[str, Setting] = MappingProxyType({}),
) -> dict[str, Setting]:
    """Settings, and the changes of them that the model takes, one after the other."""
    kept = dict(settings)
    waiting = [list(changes)] if changes else []
    while waiting:
        some = waiting.pop()
        tried = dict(kept)
        for change in some:
            tried |= change
        try:
            load(base, recipes, tried)
            kept = tried
        except UserError:
            half = len(some) // 2
            waiting += [some[half:], some[:half]] if half else []
    return kept
