"""Policies by name: every slot of the machine is filled by a class that the model file names.

A policy is registered with a decorator, or named as ``"package.module:Class"`` in the model; no
file of gpusim changes for a new one.  Its options are the keyword-only parameters of `__init__`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any, TypeVar

from attrs import NOTHING, field, frozen

from gpusim.core.errors import UserError, few, nearest
from gpusim.core.module_folders import import_all
from gpusim.core.policy import PolicyConfig
from gpusim.core.user_code import load_own

PolicyClass = TypeVar("PolicyClass", bound=type)


class Slot(StrEnum):
    """The places of a machine that a policy can fill."""

    BLOCK_SCHEDULER = "block scheduler"
    SM_SHARING = "SM sharing"
    WARP_SCHEDULER = "warp scheduler"
    TLB_ARRAY = "TLB array"
    TLB_SET = "TLB set"
    TLB_FILL = "TLB fill policy"
    TLB_MSHRS = "TLB MSHR policy"
    CACHE_BYPASS = "cache bypass policy"
    DRAM_QUEUE = "DRAM queue"
    FRAMES = "frame allocation"
    PAGE_TABLE = "page table"
    WALK_ORDER = "walk order"
    STAGE = "translation stage"
    REPLACEMENT = "replacement"
    PAGE_PREFETCH = "page prefetch policy"
    EVICTION = "page eviction policy"
    MIGRATION = "page migration policy"
    BLOCK_SHARES = "block shares of GPUs"
    PAGE_PLACEMENT = "page placement"
    REMOTE_PAGES = "remote pages"
    INVALIDATION = "invalidation"
    FORWARDING = "far fault forwarding"
    FRAME_GUESS = "frame guess"


@frozen(eq=False, repr=False)
class Interface:
    """What a slot asks of a policy.

    Attributes:
        base: abstract class with the methods, which every policy of the slot subclasses.
        arguments: what the machine gives to `__init__` before the options.
    """

    base: type
    arguments: tuple[str, ...] = ()


SLOT = "slot"
"""In the metadata of an attribute of a schema class: which slot the policy fills."""

_INTERFACES: dict[Slot, Interface] = {}


def open_slot(slot: Slot, base: type, *arguments: str) -> None:
    """Say what fills a slot: subclasses of `base`, which are made with these arguments."""
    _INTERFACES[slot] = Interface(base, arguments)


def interface(slot: Slot) -> Interface:
    """What a slot asks of a policy."""
    if slot not in _INTERFACES:
        _import_rooms()
    return _INTERFACES[slot]


_POLICIES: dict[Slot, dict[str, type]] = {slot: {} for slot in Slot}

_ROOMS_TO_COME: list[str] = []
"""Packages whose modules open slots and register policies, and that are not imported yet."""


def import_when_asked(rooms: Iterable[str]) -> None:
    """Import packages, whose policies few machines have, when a slot or a name is not known."""
    _ROOMS_TO_COME.extend(rooms)


def _import_rooms() -> None:
    while _ROOMS_TO_COME:
        import_all(_ROOMS_TO_COME.pop(0))


def register_policy(slot: Slot, name: str, cls: type) -> None:
    """Make a class known as `name` in `slot`.

    A class that is defined anew, in a notebook's cell that runs again, replaces itself.

    Raises:
        ValueError: another class has the name.
    """
    if not same_definition(_POLICIES[slot].get(name, cls), cls):
        raise ValueError(f"there is already a {slot} named {name!r}")
    _POLICIES[slot][name] = cls


def policy(slot: Slot, name: str) -> Callable[[PolicyClass], PolicyClass]:
    """Class decorator: `register_policy`.

    The compiled classes of gpusim do without it: a class that is decorated is not compiled.
    """

    def register(cls: PolicyClass) -> PolicyClass:
        register_policy(slot, name, cls)
        return cls

    return register


def same_definition(old: object, new: object) -> bool:
    """Whether two classes or functions come from the same place of the same module."""
    places = [(getattr(it, "__module__", ""), getattr(it, "__qualname__", "")) for it in (old, new)]
    return places[0] == places[1]


def policy_names(slot: Slot) -> tuple[str, ...]:
    """Registered names of a slot, sorted."""
    _import_rooms()
    return tuple(sorted(_POLICIES[slot]))


def find_policy(slot: Slot, name: str) -> type:
    """The class that `name` stands for: a registered name or ``"package.module:Class"``.

    Raises:
        UserError: there is no such policy.
    """
    if name not in _POLICIES[slot] and ":" not in name:
        _import_rooms()
    if name in _POLICIES[slot]:
        return _POLICIES[slot][name]
    if ":" in name:
        found = load_own(name, slot)
        if not isinstance(found, type):
            raise UserError(f"the {slot} {name!r} is not a class")
        return found
    allowed = policy_names(slot)
    names = f"{few(allowed, name)}, or " if allowed else ""
    raise UserError(
        f"there is no {slot} named {name!r}{nearest(name, allowed)}; "
        f"allowed: {names}'package.module:Class'"
    )


def make_policy(slot: Slot, config: PolicyConfig, *args: Any) -> Any:
    """An instance of the policy that the model names for `slot`."""
    return find_policy(slot, config.policy)(*args, **config.options)


def maybe_policy_of(slot: Slot) -> Any:
    """An attribute of a schema class: the policy that fills a slot; by default None: none does."""
    return field(default=None, metadata={SLOT: slot})


def policy_of(slot: Slot, default: str | None = None) -> Any:
    """An attribute of a schema class: the policy that fills a slot, by default this one."""
    value = NOTHING if default is None else PolicyConfig(default)
    return field(default=value, metadata={SLOT: slot})
