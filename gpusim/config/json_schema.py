"""JSON Schemas of files, made of the classes that read them: editors complete and check by these.

A schema is not the reader: it knows keys, types, units, words and names of policies, not what
contradicts what.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import attrs

from gpusim.config.choices import CHOICES
from gpusim.core.policy import PolicyConfig
from gpusim.core.registry import SLOT, Slot
from gpusim.files.units import Bandwidth, Bytes, Duration, Hertz

Schema = dict[str, Any]

DRAFT = "http://json-schema.org/draft-07/schema#"
"""What editors' TOML extensions understand."""

_NUMBER = r"^\s*[0-9]+(\.[0-9]+)?\s*"
_QUANTITIES: Mapping[Any, tuple[str, str]] = {
    Bytes: (_NUMBER + "(B|KiB|MiB|GiB)$", "16KiB"),
    Hertz: (_NUMBER + "(Hz|kHz|MHz|GHz)$", "1400MHz"),
    Bandwidth: (_NUMBER + "[kMG]?B/s$", "12GB/s"),
    Duration: (_NUMBER + "(cycles?|ps|ns|us)$", "10 cycles"),
}
_PLAIN: Mapping[Any, Schema] = {
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    bool: {"type": "boolean"},
    Any: {},
}

_RELATIVE: Schema = {
    "type": "object",
    "properties": {
        "times": {"type": "number"},
        "about": {"type": "number"},
        "at_least": {"type": ["integer", "string"]},
    },
    "minProperties": 1,
    "maxProperties": 1,
    "additionalProperties": False,
}

Names = Callable[[Slot], tuple[str, ...]]
"""The policies that there are for a slot."""


class Schemas:
    """Schemas of attrs classes, each of them once.

    Args:
        names: policies by slot.
        layer: whether a file is laid over another one: nothing must be there, and ``"none"`` takes
            away what is optional.
        lists: whether one value may stand for a list of it.
    """

    def __init__(self, names: Names, *, layer: bool = False, lists: bool = False) -> None:
        self.definitions: dict[str, Schema] = {}
        self._names = names
        self._layer = layer
        self._lists = lists

    def of(self, cls: type) -> Schema:
        """A reference to the schema of a class."""
        if cls.__name__ not in self.definitions:
            self.definitions[cls.__name__] = {}  # it may contain itself
            self.definitions[cls.__name__] = self.table(cls)
        return {"$ref": f"#/definitions/{cls.__name__}"}

    def table(self, cls: type) -> Schema:
        """A class as a table: a key an attribute."""
        hints, descriptions = get_type_hints(cls), dict(_descriptions(cls))
        properties, required = {}, []
        for one in attrs.fields(cls):
            if not one.init:
                continue
            found = self._of(hints[one.name], one.metadata)
            properties[one.name] = {"description": descriptions.get(one.name, ""), **found}
            if not self._layer and one.default is attrs.NOTHING:
                required.append(one.name)
        return {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        }

    def _of(self, kind: Any, metadata: Mapping[Any, Any]) -> Schema:
        """A value of a kind, with the metadata of its attribute."""
        origin = get_origin(kind)
        if origin in (Union, UnionType):
            inner = [self._of(one, metadata) for one in get_args(kind) if one is not NoneType]
            return {"anyOf": [*inner, {"const": "none"}]}
        if origin is tuple:
            inside = self._of(get_args(kind)[0], {})
            several: Schema = {"type": "array", "items": inside}
            return {"anyOf": [several, inside]} if self._lists else several
        if origin is not None:
            return self._mapping(get_args(kind)[1])
        if kind is PolicyConfig:
            return self._policy(metadata.get(SLOT))
        if attrs.has(kind) and kind not in _QUANTITIES:
            return self.of(kind)
        return self._value(kind, metadata)

    def _mapping(self, kind: Any) -> Schema:
        """Tables of the user's names, each of which a layer may take away."""
        inside = self._of(kind, {})
        if self._layer:
            inside = {"anyOf": [inside, {"const": "none"}]}
        return {"type": "object", "additionalProperties": inside}

    def _value(self, kind: Any, metadata: Mapping[Any, Any]) -> Schema:
        """A single value; in a layer a number may also depend on the value below."""
        found = dict(_PLAIN.get(kind, {}))
        if kind in _QUANTITIES:
            pattern, example = _QUANTITIES[kind]
            found = {"type": "string", "pattern": pattern, "examples": [example]}
        if CHOICES in metadata:
            found = {"enum": list(metadata[CHOICES])}
        if not self._layer or kind not in (int, Bytes):
            return found
        return {"anyOf": [found, _RELATIVE]}

    def _policy(self, slot: Slot | None) -> Schema:
        """A name, or a table with options."""
        names = list(self._names(slot)) if slot else []
        name = {"anyOf": [{"enum": names}, {"type": "string", "pattern": r"^[\w.]+:\w+$"}]}
        options = {"type": ["integer", "number", "string", "boolean"]}
        table = {
            "type": "object",
            "properties": {"policy": name},
            "additionalProperties": options,
            "required": [] if self._layer else ["policy"],
        }
        return {"anyOf": [*name["anyOf"], table]}


def _descriptions(cls: type) -> Iterator[tuple[str, str]]:
    """What the docstring of a class says of its attributes."""
    text = inspect.cleandoc(cls.__doc__ or "").partition("Attributes:\n")[2]
    text = text.partition("\n\n")[0]
    for names, meaning in re.findall(
        r"^    ([\w, ]+): (.*?)(?=^    \S|\Z)", text, re.MULTILINE | re.DOTALL
    ):
        for name in names.split(", "):
            yield name, " ".join(meaning.split())
