"""Requirements on a class that fills a slot: its methods, and how the machine makes it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from gpusim.core.policy import PolicyConfig
from gpusim.core.registry import Slot, interface
from gpusim.machine.declared import abstract_names, declared_names, is_method, signature


def unfit(slot: Slot, cls: type) -> str:
    """Why `cls` cannot fill `slot`, with any options; empty if it can."""
    return lacks(slot, cls) or wrong_calls(slot, cls) or positional_options(slot, cls)


def lacks(slot: Slot, cls: type) -> str:
    """What `cls` lacks to fill `slot`; empty if nothing."""
    base = interface(slot).base
    names = [name for name in _required(base) if not hasattr(cls, name)]
    names += abstract_names(cls)
    home = f"{base.__module__}.{base.__qualname__}"
    if not names:
        subclass = issubclass(cls, base)
        return "" if subclass else f"{cls.__qualname__} is no {slot}: it must subclass {home}"
    return f"{cls.__qualname__} lacks {', '.join(names)}: a {slot} is a {home}"


def wrong_calls(slot: Slot, cls: type) -> str:
    """Which method of `cls` cannot be called as the machine calls it; empty if all can."""
    base = interface(slot).base
    for name in dict.fromkeys((*_required(base), *abstract_names(base))):
        expected, found = getattr(base, name, None), getattr(cls, name, None)
        if expected is None or not is_method(expected) or found is expected:
            continue
        if not callable(found):
            return f"{cls.__qualname__}.{name} must be a method"
        if not _takes(found, expected):
            return (
                f"{cls.__qualname__}.{name} takes {_arguments(found)}; "
                f"it is called with {_arguments(expected)}"
            )
    return ""


def positional_options(slot: Slot, cls: type) -> str:
    """What is wrong with parameters that are neither the machine's nor options; empty if none."""
    given = len(interface(slot).arguments)
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    own = [one for one in signature(cls).parameters.values() if one.kind in positional]
    if len(own) <= given:
        return ""
    names = ", ".join(one.name for one in own[given:])
    return (
        f"{cls.__qualname__}.__init__: {names} is positional: an option is keyword-only, "
        f"make it so with a * in front: ({', '.join(['self', *(o.name for o in own[:given])])}, "
        f"*, {names})"
    )


def cannot_be_made(slot: Slot, cls: type, policy: PolicyConfig) -> str:
    """Why the machine cannot make a `cls` with the policy's options; empty if it can."""
    arguments = interface(slot).arguments
    try:
        signature(cls).bind(*arguments, **policy.options)
    except TypeError as error:
        given = ", ".join((*arguments, "*", "options"))
        return (
            f"{cls.__qualname__} cannot be made: {error}; the machine calls it with ({given}), "
            "options by their names"
        )
    return ""


def _takes(found: Any, expected: Any) -> bool:
    """Whether a method can be called like another one: by position, and by keyword where it is."""
    by_position: list[None] = []
    by_name: dict[str, None] = {}
    for one in signature(expected).parameters.values():
        if one.kind is inspect.Parameter.KEYWORD_ONLY:
            by_name[one.name] = None
        elif one.kind is not inspect.Parameter.VAR_KEYWORD:
            by_position.append(None)
    try:
        signature(found).bind(*by_position, **by_name)
    except (TypeError, ValueError):
        return False
    return True


def _arguments(method: Any) -> str:
    names = [
        str(one.replace(annotation=inspect.Parameter.empty))
        for one in signature(method).parameters.values()
    ]
    return f"({', '.join(names)})"


def _required(base: type) -> Iterator[str]:
    """Public names that a class must have."""
    names = (name for name in declared_names(base) if not name.startswith("_"))
    yield from dict.fromkeys((*names, *abstract_names(base)))
