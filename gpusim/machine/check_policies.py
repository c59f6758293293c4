"""Checks that need the components themselves: which policies there are, and what DRAM can be."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from gpusim.config.check_unified import check_unified
from gpusim.config.node import NodeConfig
from gpusim.config.schema import LRU, GpuConfig
from gpusim.config.translation import TlbConfig
from gpusim.core.errors import (
    OptionError,
    UserError,
    is_own,
    nearest,
    own_code_errors,
    own_modules,
)
from gpusim.core.policy import Option, PolicyConfig
from gpusim.core.registry import SLOT, Slot, find_policy, interface, make_policy
from gpusim.core.replacement import make_replacement
from gpusim.core.user_code import is_unknown
from gpusim.files.structure import Problem, attributes_of
from gpusim.files.toml_document import Key
from gpusim.hardware.dram import ChannelUse, check_dram
from gpusim.hardware.tlb import FillPolicy, TlbArray, make_array, takes_sets
from gpusim.hardware.walk import TableLayout
from gpusim.machine.declared import signature
from gpusim.machine.mock_site import SOME_FRAMES, SOME_PAGE, trial_site, trial_table_site
from gpusim.machine.slots import cannot_be_made, unfit

if TYPE_CHECKING:
    from gpusim.hardware.node import RemotePages

_OPTION_TYPES: Mapping[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (int, float),
    "str": (str,),
    "bool": (bool,),
}


def check_policies(config: GpuConfig) -> Iterator[Problem]:
    """Unknown policies and options, and DRAM tables that contradict themselves."""
    policies = list(policies_of(config))
    unknown = any(is_unknown(policy.policy) for _, _, policy in policies)
    problems = [
        problem
        for key, slot, policy in policies
        if not is_unknown(policy.policy)
        for problem in _check_policy(key, slot, policy)
    ]
    if problems or unknown:  # what cannot be imported now cannot be made either
        yield from problems
        return
    # The modules of all of them that are not gpusim's: one may call another.
    own = own_modules(find_policy(slot, policy.policy) for _, slot, policy in policies)
    for key, slot, policy in policies:
        if not interface(slot).arguments:
            yield from _check_made(own, key, slot, policy)
    yield from _check_made(own, ("sharing",), Slot.SM_SHARING, config.sharing, config.clock)
    frames = config.memory.frames, SOME_FRAMES, 0
    yield from _check_made(own, ("memory", "frames"), Slot.FRAMES, *frames)
    if config.memory.table is not None:
        yield from _check_layout(own, config.memory.table, config)
    for name, tlb in config.tlb.items():
        users = config.tlb_users(tlb, apps=1)
        problems = [
            *_check_made(own, ("tlb", name, "fill"), Slot.TLB_FILL, tlb.fill, *users),
            *_check_mshrs(own, ("tlb", name), tlb),
            *_check_tlb(own, ("tlb", name), tlb, config.sms_of(tlb.scope)),
        ]
        yield from problems or _check_follows(("tlb", name), tlb)
    for name, stage in config.stage.items():
        site = trial_site(name, stage)
        yield from _check_made(own, ("stage", name, "kind"), Slot.STAGE, stage.kind, site)
    if config.paging is not None:
        yield from _check_made(
            own, ("paging", "prefetch"), Slot.PAGE_PREFETCH, config.paging.prefetch, SOME_PAGE
        )
        yield from _check_made(
            own, ("paging", "eviction"), Slot.EVICTION, config.paging.eviction, 0
        )
        if config.paging.mover is not None:
            yield from _check_made(
                own, ("paging", "mover"), Slot.MIGRATION, config.paging.mover, SOME_PAGE
            )
    if config.node is not None:
        made = config.node.placement, max(config.node.gpus, 1), SOME_PAGE
        yield from _check_made(own, ("node", "placement"), Slot.PAGE_PLACEMENT, *made)
        made = config.node.remote, *made[1:]
        yield from _check_made(own, ("node", "remote"), Slot.REMOTE_PAGES, *made)
        yield from _check_remote(config, config.node)
        yield from _check_far_faults(own, config.node, config.memory.table_entries)
        yield from _check_across_gpus(config, config.node)
    for key, replacement, ways in _replaced(config):
        yield from _check_replacement(own, key, replacement, ways)
    yield from _check_dram(config, own)


def _check_far_faults(
    own: Collection[str], node: NodeConfig, table_entries: int
) -> Iterator[Problem]:
    """Policies of invalidations and of forwarding, where there are some."""
    gpus = max(node.gpus, 1)
    if node.invalidation is not None:
        key, made = ("node", "invalidation"), (node.invalidation, gpus, table_entries)
        yield from _check_made(own, key, Slot.INVALIDATION, *made)
    if node.forwarding is not None:
        yield from _check_made(own, ("node", "forwarding"), Slot.FORWARDING, node.forwarding, gpus)


def _check_remote(config: GpuConfig, node: NodeConfig) -> Iterator[Problem]:
    """Pages that move or are copied, beside what does not go with that."""
    policy: type[RemotePages] = find_policy(Slot.REMOTE_PAGES, node.remote.policy)
    if node.page_tables == "shared" and node.host_mmu is not None:
        if policy.copies:
            yield Problem(
                ("node", "remote"),
                f"{node.remote.policy!r} gives GPUs copies of a page, and one table for all has "
                'one frame for it: not with node.page_tables = "shared"',
            )
        elif policy.by_faults:
            yield Problem(
                ("node", "remote"),
                f"{node.remote.policy!r} moves pages that GPUs do not find in their tables, and "
                "one table for all has every page; use a policy that counts accesses, such as "
                '"access-counters"',
            )
    if node.copy_engines is not None and policy.copies:
        yield Problem(
            ("node", "remote"),
            f"{node.remote.policy!r} gives copies up when a store leaves an SM, and copy engines "
            "store without one: not with node.copy_engines",
        )
    if config.paging is not None and policy.copies:
        yield Problem(
            ("node", "remote"),
            f"{node.remote.policy!r} holds stores to a page until its copies are gone, and a page "
            "that leaves for the host meanwhile has no place for them: not with paging",
        )


def _check_across_gpus(config: GpuConfig, node: NodeConfig) -> Iterator[Problem]:
    """Stages that answer with what other GPUs have asked for, where GPUs ask a host."""
    last = list(config.tlb)[-1]
    for name, stage in config.stage.items():
        cls = find_policy(Slot.STAGE, stage.kind.policy)
        if getattr(cls, "follows_last_tlb", False) and not _is_open(config.tlb[last]):
            yield Problem(
                ("stage", name, "kind"),
                f"{stage.kind.policy!r} takes in what the last TLB evicts, and looks for pages "
                f"there, which its array {config.tlb[last].array.policy!r} does not allow",
            )
        if getattr(cls, "asks_other_gpus", False) and _by_block_slot(config.tlb[last]):
            yield Problem(
                ("tlb", last, "array"),
                f"{config.tlb[last].array.policy!r} is indexed by block slots of SMs, and stage "
                f"{name} ({stage.kind.policy!r}) sends it translations of other GPUs' SMs",
            )
        if node.host_mmu is not None and getattr(cls, "across_gpus", False):
            yield Problem(
                ("stage", name, "kind"),
                f"{stage.kind.policy!r} answers with pages that a GPU's own table need not have: "
                "not with node.host_mmu",
            )


def _array_of(tlb: TlbConfig) -> TlbArray | None:
    """The array of a TLB; None: other checks refuse it."""
    try:
        return make_array(tlb)
    except UserError:
        return None


def _is_open(tlb: TlbConfig) -> bool:
    """Whether a TLB tells what it evicts and can be looked at, or other checks refuse it."""
    array = _array_of(tlb)
    if array is None:
        return True
    try:
        array.peek(0, 0)
    except UserError:
        return False
    return not tlb.ideal and array.traits().spills


def _by_block_slot(tlb: TlbConfig) -> bool:
    """Whether entries of a TLB belong to block slots of SMs."""
    array = _array_of(tlb)
    return array is not None and array.traits().by_block_slot


def policies_of(config: GpuConfig) -> Iterator[tuple[Key, Slot, PolicyConfig]]:
    """Every filled slot of a machine."""
    for key, attribute, value in attributes_of(config):
        if SLOT in attribute.metadata and value is not None:
            yield key, attribute.metadata[SLOT], value


def _replaced(config: GpuConfig) -> Iterator[tuple[Key, PolicyConfig, int]]:
    """Replacement of the caches: its key, the policy, and the ways of a set."""
    yield ("l1", "replacement"), config.l1.replacement, config.l1.ways
    if config.l1.unified is not None and not any(check_unified(config)):
        for _, ways in config.l1.splits:
            yield ("l1", "replacement"), config.l1.replacement, ways
    yield ("l2", "replacement"), config.l2.replacement, config.l2.ways
    for name, side in config.side_caches.items():
        yield (name, "replacement"), side.replacement, side.ways
        if side.tlb is not None:
            yield (name, "tlb", "replacement"), side.tlb.replacement, side.tlb.ways
    cache = config.walk.cache
    if cache is not None:
        yield ("walk", "cache", "replacement"), cache.replacement, cache.ways or cache.blocks


def policy_options(cls: type) -> Mapping[str, inspect.Parameter]:
    """Options of a policy: the keyword-only parameters of its `__init__`."""
    parameters = signature(cls).parameters.values()
    return {one.name: one for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY}


def _check_policy(key: Key, slot: Slot, policy: PolicyConfig) -> Iterator[Problem]:
    try:
        cls = find_policy(slot, policy.policy)
    except UserError as error:
        yield Problem(key, str(error))
        return
    by_name = ":" not in policy.policy and not is_own(cls)  # tests see that it is fit
    if not by_name and (message := unfit(slot, cls)):
        yield Problem(key, message)
        return
    problems = list(_check_options(key, policy, policy_options(cls)))
    yield from problems
    if not problems and (message := cannot_be_made(slot, cls, policy)):
        yield Problem(key, message)


def _check_options(
    key: Key, policy: PolicyConfig, options: Mapping[str, inspect.Parameter]
) -> Iterator[Problem]:
    for name, value in policy.options.items():
        if name not in options:
            allowed = ", ".join(options) or "it has none"
            yield Problem(
                (*key, name),
                f"{policy.policy!r} has no option {name!r}{nearest(name, options)}; "
                f"allowed: {allowed}",
            )
        elif not _fits(value, options[name]):
            yield Problem((*key, name), f"must be of type {_type_name(options[name])}")
    for name, parameter in options.items():
        if parameter.default is inspect.Parameter.empty and name not in policy.options:
            yield Problem((*key, name), f"is missing: {policy.policy!r} needs it")


def _fits(value: Option, parameter: inspect.Parameter) -> bool:
    types = _OPTION_TYPES.get(_type_name(parameter))
    return types is None or type(value) in types


def _type_name(parameter: inspect.Parameter) -> str:
    annotation = parameter.annotation
    return annotation if isinstance(annotation, str) else annotation.__name__


def _check_tlb(own: Collection[str], key: Key, tlb: TlbConfig, sms: int) -> Iterator[Problem]:
    """What a TLB array cannot be made of, or cannot serve; `sms` share it."""
    array: type[TlbArray] = find_policy(Slot.TLB_ARRAY, tlb.array.policy)
    yield from _check_replaces(key, tlb, array)
    if tlb.ideal or tlb.entries < 1 or tlb.ways < 1:
        return
    if array.by_block_slot and not array.tells_sms_apart and sms > 1:
        yield Problem(
            (*key, "array"),
            f"{tlb.array.policy!r} is indexed by block slots, which are the same on each of the "
            f'{sms} SMs of a TLB with scope = "{tlb.scope}"; allowed: one SM a TLB',
        )
    if tlb.sets.policy != "plain" and not takes_sets(array):
        yield Problem(
            (*key, "sets"), f"of no effect: the array {tlb.array.policy!r} is not made of sets"
        )
    problems = [
        *_check_replacement(own, (*key, "replacement"), tlb.replacement),
        *_check_made(own, (*key, "sets"), Slot.TLB_SET, tlb.sets, tlb),
    ]
    yield from problems
    if not problems:
        yield from _refusals(own, (*key, "array"), array, partial(make_array, tlb))


def _check_mshrs(own: Collection[str], key: Key, tlb: TlbConfig) -> Iterator[Problem]:
    """What decides on misses, and cannot be made, or is never asked."""
    if tlb.mshr_policy is None:
        return
    if tlb.ideal:
        yield Problem((*key, "mshr_policy"), "of no effect: an ideal level has no misses")
    if not tlb.merging:
        yield Problem((*key, "merging"), "must be true with an MSHR policy, which counts by page")
    policy, key = tlb.mshr_policy, (*key, "mshr_policy")
    yield from _check_made(own, key, Slot.TLB_MSHRS, policy, tlb.mshrs, 1)


def _check_layout(
    own: Collection[str], layout: PolicyConfig, config: GpuConfig
) -> Iterator[Problem]:
    """A layout of page tables that cannot be made, or of which a walk cache could keep nothing."""
    site = trial_table_site(config.memory)
    yield from _check_made(own, ("memory", "table"), Slot.PAGE_TABLE, layout, site)
    made: type[TableLayout] = find_policy(Slot.PAGE_TABLE, layout.policy)
    if config.walk.cost == "fixed":
        yield Problem(
            ("memory", "table"),
            'of no effect with walk.cost = "fixed"; allowed: "memory" and "per-level"',
        )
    cache = config.walk.cache
    if cache is not None and cache.kind != "lines" and not made.tree:
        yield Problem(
            ("walk", "cache", "kind"),
            f"of no effect: the page table {layout.policy!r} has no upper levels; allowed: "
            '"lines", or no walk.cache',
        )


def _check_follows(key: Key, tlb: TlbConfig) -> Iterator[Problem]:
    """A fill policy that would not learn what the array evicts."""
    fill: type[FillPolicy] = find_policy(Slot.TLB_FILL, tlb.fill.policy)
    if not tlb.ideal and fill.follows and not make_array(tlb).traits().spills:
        yield Problem(
            (*key, "fill"),
            f"{tlb.fill.policy!r} has to know what is evicted, which the array "
            f"{tlb.array.policy!r} does not hand on",
        )


def _check_replaces(key: Key, tlb: TlbConfig, array: type[TlbArray]) -> Iterator[Problem]:
    """Replacement that a TLB level would ignore."""
    if tlb.replacement == LRU:
        return
    if tlb.ideal:
        yield Problem(
            (*key, "replacement"), "of no effect: an ideal level holds all pages; leave it out"
        )
    elif not array.replaces:
        yield Problem(
            (*key, "replacement"),
            f"of no effect: the array {tlb.array.policy!r} replaces in its own way; leave it out",
        )


def _check_replacement(
    own: Collection[str], key: Key, replacement: PolicyConfig, *ways: int
) -> Iterator[Problem]:
    """Make a replacement policy, and ask whether it can serve sets of `ways` ways.

    TLB arrays ask for themselves: only they know how large their sets are.
    """
    cls = find_policy(Slot.REPLACEMENT, replacement.policy)
    yield from _refusals(own, key, cls, partial(make_replacement, replacement, *ways))


def _check_made(
    own: Collection[str], key: Key, slot: Slot, policy: PolicyConfig, *args: object
) -> Iterator[Problem]:
    """Make a policy as the machine does: it refuses options that it cannot work with."""
    cls = find_policy(slot, policy.policy)
    yield from _refusals(own, key, cls, partial(make_policy, slot, policy, *args))


def _refusals(
    own: Collection[str], key: Key, cls: type, make: Callable[[], object]
) -> Iterator[Problem]:
    """What goes wrong when a policy of a class is made; `own` are the user's modules."""
    try:
        with own_code_errors(own):
            make()
    except OptionError as error:
        table = key if error.name in policy_options(cls) else key[:-1]
        yield Problem((*table, error.name), error.message)
    except UserError as error:
        yield Problem(key, str(error))


def _check_dram(config: GpuConfig, own: Collection[str]) -> Iterator[Problem]:
    """The DRAM room refuses what it cannot build; its messages begin with the key."""
    dram = config.dram
    made = (dram.scheduler, dram.read_queue, dram.banks_per_channel)
    problems = list(_check_made(own, ("dram", "scheduler"), Slot.DRAM_QUEUE, *made))
    yield from problems
    if problems:
        return
    try:
        check_dram(dram, ChannelUse(request_bytes=config.l2.line))
    except UserError as error:
        keys, _, message = str(error).partition(": ")
        yield Problem(tuple(keys.partition(",")[0].split(".")), message)
