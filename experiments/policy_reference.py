"""Every policy of every slot with its options, as the classes declare them.

``gpusim study policy-reference`` prints the tables; with ``--doc`` it writes them into the page
docs/reference/policies.md.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from attrs import frozen

import gpusim
from experiments.marked import compact, tell
from gpusim.config.schema import GpuConfig
from gpusim.core.errors import is_own
from gpusim.core.registry import Slot, find_policy, policy_names
from gpusim.machine.check_policies import policies_of, policy_options

MAINTENANCE = True
"""A study of gpusim itself: ``gpusim list maintenance`` has it."""

PART = "policies"
"""Name of the generated part of the page."""

MACHINES = {
    "kepler-uvm": (
        "demand-paging",
        "tlb-prefetch-next",
        "memory-walks",
        "table-hashed",
        "tlb-mshr-shares",
    ),
    "maxwell-mask": ("speculative-fetch",),
    "mcm-gpu": ("trans-fw", "idyll"),
    "r9-nano": ("second-memory",),
}
"""Models, with recipes, that together have every slot."""

_NAMED = ("tlb", "stage")
"""Tables of a model whose entries have names of the model's choice."""


@frozen
class OptionRow:
    """An option of a policy.

    Attributes:
        name: key of the option.
        default: as it is written in TOML; empty: the option must be given.
        allowed: values that are accepted, where a check states them.
        meaning: what it does.
    """

    name: str
    default: str
    allowed: str
    meaning: str


def tables() -> str:
    """A heading and a table for each slot, then the options of each of its policies."""
    lines: list[str] = []
    keys = slot_keys()
    for slot in Slot:
        lines += [f"## {slot.value[0].upper()}{slot.value[1:]}", "", _keys_line(keys[slot]), ""]
        classes = shipped_policies(slot)
        told = [(f"`{name}`", _first_sentence(cls)) for name, cls in classes.items()]
        lines += [compact(("policy", "what it does"), told), ""]
        for name, cls in classes.items():
            lines += _option_table(name, cls, classes)
    return "\n".join(lines)


def shipped_policies(slot: Slot) -> dict[str, type]:
    """The classes of gpusim's own policies for a slot, by name."""
    found = {name: find_policy(slot, name) for name in policy_names(slot)}
    return {name: cls for name, cls in found.items() if not is_own(cls)}


def slot_keys() -> dict[Slot, list[str]]:
    """Keys of a model that name a policy, by slot."""
    found: dict[Slot, dict[str, None]] = {slot: {} for slot in Slot}
    for model, recipes in MACHINES.items():
        for key, slot in _slots(gpusim.load_model(model, list(recipes)).config):
            found[slot][key] = None
    return {slot: list(keys) for slot, keys in found.items()}


def _slots(config: GpuConfig) -> Iterator[tuple[str, Slot]]:
    for key, slot, _ in policies_of(config):
        named = key[0] in _NAMED
        yield ".".join((key[0], "NAME", *key[2:]) if named else key), slot


def options_of(cls: type) -> list[OptionRow]:
    """The options of a policy, in the order of its parameters."""
    meanings, limits = _meanings(cls), _limits(cls)
    return [
        OptionRow(
            name,
            "" if one.default is inspect.Parameter.empty else _toml(one.default),
            limits.get(name, ""),
            meanings.get(name, ""),
        )
        for name, one in policy_options(cls).items()
    ]


def _option_table(name: str, cls: type, others: Mapping[str, type]) -> Iterator[str]:
    """Its options, without those that it has from another policy of the slot."""
    rows = options_of(cls)
    if not rows:
        return
    yield from (f"### `{name}`", "")
    inherited = _inherited(cls, others)
    if inherited:
        base, base_rows = inherited
        rows = [one for one in rows if one not in base_rows]
        yield from (f"As [`{base}`](#{base}){', and:' if rows else '.'}", "")
    if rows:
        yield from (compact(("option", "default", "allowed", "meaning"), [*map(_cells, rows)]), "")


def _cells(one: OptionRow) -> tuple[str, str, str, str]:
    default = f"`{one.default}`" if one.default else "required"
    return f"`{one.name}`", default, one.allowed, one.meaning


def _inherited(cls: type, others: Mapping[str, type]) -> tuple[str, list[OptionRow]] | None:
    """The nearest base that is a policy of the slot, if all of its options are those of `cls`."""
    names = {other: name for name, other in others.items()}
    mine = options_of(cls)
    for base in cls.__mro__[1:]:
        if base in names:
            rows = options_of(base)
            return (names[base], rows) if rows and all(one in mine for one in rows) else None
    return None


def _keys_line(keys: Collection[str]) -> str:
    return f"Key: {', '.join(f'`{key}`' for key in keys)}."


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


def _first_sentence(cls: type) -> str:
    return _plain((inspect.getdoc(cls) or "").partition("\n\n")[0])


def _meanings(cls: type) -> dict[str, str]:
    """What the docstrings of a class and its bases say of each parameter; the nearest one wins."""
    found: dict[str, str] = {}
    for base in cls.__mro__:
        for name, text in _arguments(base.__doc__ or "").items():
            if not text.startswith("see `"):
                found.setdefault(name, text)
    return found


def _arguments(docstring: str) -> dict[str, str]:
    """Entries of the section ``Args:``, each in one line."""
    body = inspect.cleandoc(docstring).partition("Args:\n")[2]
    section = re.match(r"(?:(?: {4}.*)?\n?)*", body)
    entries = re.split(r"^ {4}(?=\w[\w, ]*: )", section[0] if section else "", flags=re.MULTILINE)
    found: dict[str, str] = {}
    for entry in entries:
        names, _, text = entry.partition(": ")
        found |= {name: _plain(text) for name in names.split(", ") if text}
    return found


def _plain(text: str) -> str:
    """One line, with single backticks."""
    return " ".join(text.replace("``", "`").replace("|", r"\|").split())


def _limits(cls: type) -> dict[str, str]:
    """What `one_of` and `at_least` let pass, for each option that a class or its bases check."""
    found: dict[str, str] = {}
    for base in cls.__mro__:
        if base.__module__.startswith("gpusim."):
            for name, limit in _checks(base.__module__).items():
                found.setdefault(name, limit)
    return found


@cache
def _checks(module: str) -> Mapping[str, str]:
    tree = ast.parse(_source(module).read_text(encoding="utf-8"))
    values = vars(sys.modules[module])
    found: dict[str, str] = {}
    refusals: dict[str, str] = {}
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.args:
            limit = _limit(call.func.id, call.args[0], values)
            found |= {one.arg: limit for one in call.keywords if one.arg and limit}
            refusals |= _refusal(call.func.id, call.args)
    return refusals | found


def _refusal(check: str, arguments: Sequence[ast.expr]) -> dict[str, str]:
    """What an `OptionError` asks of the option that it names, where both are written out."""
    words = [one.value for one in arguments if isinstance(one, ast.Constant)]
    if check != "OptionError" or len(words) != 2:
        return {}
    name, message = map(str, words)
    return {name: message.removeprefix("must be ")} if message.startswith("must be ") else {}


def _limit(check: str, bound: ast.expr, values: Mapping[str, object]) -> str:
    if check == "at_least":
        return f"≥ {ast.unparse(bound)}"
    if check != "one_of":
        return ""
    try:
        words = eval(ast.unparse(bound), dict(values))  # noqa: S307  (gpusim's own source)
    except NameError:
        return ""  # a local name of the initialiser
    return ", ".join(f'`"{word}"`' for word in words)


def _source(module: str) -> Path:
    """The source file of a module, which lies beside a compiled one."""
    package, _, name = module.rpartition(".")
    return Path(sys.modules[package].__path__[0]) / f"{name}.py"


def main() -> None:
    """Print the tables, or write them into a page."""
    parser = argparse.ArgumentParser(description="Every policy with its options.")
    parser.add_argument("--doc", type=Path, help="page whose tables are replaced")
    tell(parser.parse_args().doc, PART, tables())


if __name__ == "__main__":
    main()
