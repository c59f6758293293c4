"""What a class must be to fill a slot: the methods it needs, and how the machine makes it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping

from attrs import frozen

from gpusim.core.policy import PolicyConfig
from gpusim.core.registry import Slot
from gpusim.core.replacement import Replacement
from gpusim.core.stage import Stage
from gpusim.hardware.cache import CacheBypass
from gpusim.hardware.dram import DramQueue
from gpusim.hardware.sm.block_scheduler import BlockPlacement
from gpusim.hardware.sm.schedulers import WarpScheduler
from gpusim.hardware.tlb import FillPolicy, SetKind, TlbArray
from gpusim.hardware.walk import FrameAllocator, WalkOrder


@frozen
class Interface:
    """What a slot asks of a policy.

    Attributes:
        base: class or protocol that tells the methods.
        arguments: what the machine gives to `__init__` before the options.
    """

    base: type
    arguments: tuple[str, ...] = ()


INTERFACES: Mapping[Slot, Interface] = {
    Slot.BLOCK_SCHEDULER: Interface(BlockPlacement),
    Slot.WARP_SCHEDULER: Interface(WarpScheduler),
    Slot.TLB_ARRAY: Interface(TlbArray, ("config",)),
    Slot.TLB_SET: Interface(SetKind, ("config",)),
    Slot.TLB_FILL: Interface(FillPolicy, ("apps", "sms", "warps")),
    Slot.CACHE_BYPASS: Interface(CacheBypass),
    Slot.FRAMES: Interface(FrameAllocator, ("frames", "seed")),
    Slot.DRAM_QUEUE: Interface(DramQueue, ("entries", "banks")),
    Slot.REPLACEMENT: Interface(Replacement),
    Slot.WALK_ORDER: Interface(WalkOrder),
    Slot.STAGE: Interface(Stage, ("site",)),
}


def lacks(slot: Slot, cls: type) -> str:
    """What `cls` lacks to fill `slot`; empty if nothing."""
    base = INTERFACES[slot].base
    names = [name for name in _required(base) if not hasattr(cls, name)]
    names += sorted(getattr(cls, "__abstractmethods__", ()))
    if not names:
        return ""
    home = f"{base.__module__}.{base.__qualname__}"
    return f"{cls.__qualname__} lacks {', '.join(names)}: a {slot} is a {home}"


def cannot_be_made(slot: Slot, cls: type, policy: PolicyConfig) -> str:
    """Why the machine cannot make a `cls` with the policy's options; empty if it can."""
    arguments = INTERFACES[slot].arguments
    try:
        inspect.signature(cls).bind(*arguments, **policy.options)
    except TypeError as error:
        given = ", ".join((*arguments, "*", "options"))
        return (
            f"{cls.__qualname__} cannot be made: {error}; the machine calls it with ({given}), "
            "options by their names"
        )
    return ""


def _required(base: type) -> Iterator[str]:
    """Public names that a class must have; those of a protocol's instances cannot be seen."""
    names = dict.fromkeys(name for name in vars(base) if not name.startswith("_"))
    names.update(dict.fromkeys(getattr(base, "__abstractmethods__", ())))
    if not getattr(base, "_is_protocol", False):
        names.update(dict.fromkeys(vars(base).get("__annotations__", ())))
    yield from names
