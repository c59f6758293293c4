"""What can be changed in a model, whatever it is, and to what."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random

import gpusim.machine.check_policies  # noqa: F401  (importing it registers all policies)
from gpusim.config.choices import CHOICES
from gpusim.config.load import LoadedModel
from gpusim.config.schema import GpuConfig
from gpusim.core.policy import PolicyConfig
from gpusim.core.registry import SLOT, Slot, policy_names
from gpusim.files.structure import attributes_of

Setting = int | float | str | bool
"""A value as a file has it."""

_LEFT_ALONE = {"name", "description", "source", "clock", "watchdog", "stages", "launch_overhead"}
"""Keys at the top that say what a machine is called, or how long one waits for it."""

_QUANTITY = re.compile(r"([0-9.]+) ?([A-Za-z/]+)")

_MOST = 1 << 40
"""Whole numbers stay below: one with no bound is refused, and that is the readers' subject."""


def keys(model: LoadedModel) -> list[str]:
    """All keys that may be changed, those with an absent policy or choice, too."""
    return sorted(_choices(model) | set(_values(model)))


def other_value(random: Random, model: LoadedModel, key: str) -> Setting:
    """Another value of a key: another choice or policy, or a number near the one that it has."""
    found = _known(model, key)
    value = _values(model).get(key)
    others = [one for one in found if one != value]
    if others:
        return random.choice(others)
    return _near(random, value) if value is not None else "none"


def _values(model: LoadedModel) -> dict[str, Setting]:
    return {
        one.key: one.value
        for one in model.values
        if one.key not in _LEFT_ALONE and isinstance(one.value, int | float | str)
    }


def policies(config: GpuConfig) -> Iterator[tuple[str, Slot, PolicyConfig | None]]:
    """The keys that name a policy, the slots that these fill, and what there is."""
    for key, attribute, value in attributes_of(config):
        if SLOT in attribute.metadata:
            yield ".".join(key), attribute.metadata[SLOT], value


def policy_keys(model: LoadedModel) -> list[tuple[str, Slot]]:
    """The keys that name a policy, and the slots that these fill."""
    return [(key, slot) for key, slot, _ in policies(model.config)]


def choice_keys(model: LoadedModel) -> list[str]:
    """The keys that have one of a few values."""
    return [
        ".".join(key)
        for key, attribute, _ in attributes_of(model.config)
        if CHOICES in attribute.metadata
    ]


def _choices(model: LoadedModel) -> set[str]:
    found = set()
    for key, attribute, _ in attributes_of(model.config):
        if CHOICES in attribute.metadata or SLOT in attribute.metadata:
            found.add(".".join(key))
    return found


def _known(model: LoadedModel, wanted: str) -> tuple[Setting, ...]:
    """The choices or policies that a key may have, if these are what it has."""
    for key, attribute, _ in attributes_of(model.config):
        if ".".join(key) == wanted:
            choices: tuple[Setting, ...] = attribute.metadata.get(CHOICES, ())
            slot = attribute.metadata.get(SLOT)
            return choices or (policy_names(slot) if slot is not None else ())
    return ()


def _near(random: Random, value: Setting) -> Setting:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return random.choice(list(_numbers(value)))
    if isinstance(value, float):
        return random.choice([one for one in (value / 2, value * 2, 0.0, 1.0) if one != value])
    quantity = _QUANTITY.fullmatch(value)
    if quantity is None:
        return "none"
    number, unit = float(quantity[1]), quantity[2]
    other = number * random.choice((0, 0.25, 0.5, 2, 4)) if number else random.choice((1, 8))
    return f"{_plain(other)} {unit}"


def _plain(number: float) -> str:
    return str(int(number)) if number == int(number) else str(number)


def _numbers(value: int) -> Iterator[int]:
    for one in (1, 2, value // 2, value // 4, value * 2, value * 4, value + 1, value - 1, 0):
        if one != value and 0 <= one < _MOST:
            yield one
