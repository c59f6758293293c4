"""Conversion between plain tables and the attrs classes of the schema, with cattrs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from types import NoneType
from typing import Any, TypeVar, get_args, get_origin

import attrs
import cattrs
from attrs import frozen
from cattrs.cols import homogenous_tuple_structure_factory
from cattrs.errors import (
    BaseValidationError,
    ClassValidationError,
    ForbiddenExtraKeysError,
    IterableValidationError,
)
from cattrs.gen import make_dict_structure_fn, mapping_structure_factory

from gpusim.core.errors import few, nearest
from gpusim.core.policy import Option, PolicyConfig
from gpusim.files.toml_document import Key
from gpusim.files.units import (
    Bandwidth,
    Bytes,
    Duration,
    Hertz,
    format_bandwidth,
    format_bytes,
    format_hertz,
    parse_bandwidth,
    parse_bytes,
    parse_duration,
    parse_hertz,
)

T = TypeVar("T")

MOST_NUMBER = (1 << 62) - 1
"""Whole numbers are those of 64-bit machines, with room for a sum."""


@frozen
class Problem:
    """What is wrong with a key.

    Attributes:
        key: the key, or the table that lacks one.
        message: what is wrong and what is allowed.
    """

    key: Key
    message: str


class StructureError(ValueError):
    """Tables that do not fit the schema; `problems` lists each mistake."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("; ".join(f"{'.'.join(p.key)}: {p.message}" for p in problems))
        self.problems = problems


def structure(data: Mapping[str, Any], cls: type[T]) -> T:
    """Tables as an instance of a schema class.

    Raises:
        StructureError: keys that are unknown or missing, or values of the wrong type.
    """
    with suppress(Exception):  # whatever it is, the other converter says where and why
        return _converter(places=False).structure(data, cls)
    try:
        return _converter(places=True).structure(data, cls)
    except BaseValidationError as error:
        raise StructureError(list(_problems(error, ()))) from error


def unstructure(config: attrs.AttrsInstance) -> dict[str, Any]:
    """An instance of a schema class as plain tables, values as they are written in files."""
    tables: dict[str, Any] = {}
    for attribute in fields_of(type(config)):
        value = getattr(config, attribute.name)
        if value is not None:
            tables[attribute.name] = _unstructured(value, present(attribute.type))
    return tables


def fields_of(cls: type[attrs.AttrsInstance]) -> tuple[attrs.Attribute[Any], ...]:
    """The fields of an attrs class, whose types are types: attrs has their names until asked."""
    return tuple(attrs.fields(attrs.resolve_types(cls)))


def attributes_of(config: Any, key: Key = ()) -> Iterator[tuple[Key, attrs.Attribute[Any], Any]]:
    """Every attribute of a machine, or of one of its tables, with its key and its value."""
    if isinstance(config, Mapping):
        for name, table in config.items():
            yield from attributes_of(table, (*key, name))
    elif attrs.has(type(config)) and not isinstance(config, PolicyConfig):
        for attribute in fields_of(type(config)):
            inner, value = (*key, attribute.name), getattr(config, attribute.name)
            yield inner, attribute, value
            yield from attributes_of(value, inner)


def default_of(cls: type, key: Key) -> Any:
    """What a key is if no file sets it, as it would be written; None if nothing is.

    Args:
        cls: schema class that the key begins in.
        key: names of tables that a file makes up (TLB levels) may be any.

    Raises:
        StructureError: there is no such key.
    """
    kind: Any = cls
    default: Any = None
    for end, name in enumerate(key, 1):
        if get_origin(kind) is Mapping:
            kind, default = get_args(kind)[1], None
            continue
        fields = _fields(kind)
        if name not in fields:
            raise StructureError([Problem(key[:end], _unknown(name, fields))])
        default, kind = fields[name].default, present(fields[name].type)
    if hasattr(default, "factory"):
        default = default.factory()
    return None if default in (None, attrs.NOTHING) else _unstructured(default, kind)


def present(kind: Any) -> Any:
    """The type ``X`` of ``X | None``, or the type itself."""
    kinds = get_args(kind)
    return next(one for one in kinds if one is not NoneType) if NoneType in kinds else kind


def _fields(kind: Any) -> Mapping[str, Any]:
    """Keys of a table; a policy's options are not known here."""
    if not attrs.has(kind) or kind is PolicyConfig:
        return {}
    return {one.name: one for one in fields_of(kind)}


def _unknown(name: str, allowed: Iterable[str]) -> str:
    names = list(allowed)
    return f"unknown key{nearest(name, names)}; allowed: {few(names, name) or 'none here'}"


_QUANTITIES: Mapping[Any, Callable[[Any], str]] = {
    Bytes: format_bytes,
    Hertz: format_hertz,
    Bandwidth: format_bandwidth,
    Duration: str,
}
"""How values with a unit are written."""


def _unstructured(value: Any, kind: Any) -> Any:
    if kind in _QUANTITIES:
        return _QUANTITIES[kind](value)
    if isinstance(value, PolicyConfig):
        return {"policy": value.policy, **value.options} if value.options else value.policy
    if isinstance(value, Mapping):
        return {name: unstructure(inner) for name, inner in value.items()}
    if attrs.has(type(value)):
        return unstructure(value)
    return list(value) if isinstance(value, tuple) else value


def as_written(value: Any, kind: Any) -> Any:
    """A value of a schema class, of the type `kind`, as files write it."""
    return _unstructured(value, kind)


def _strict(kind: type, what: str) -> Callable[[Any, Any], Any]:
    def check(value: Any, _: Any) -> Any:
        if type(value) is int and abs(value) > MOST_NUMBER:
            raise ValueError(f"must be {what}, of 62 bits at most")
        if type(value) is kind or (kind is float and type(value) is int):
            return value
        raise ValueError(f"must be {what}")

    return check


def _quantity(parse: Callable[[str], Any], what: str, example: str) -> Callable[[Any, Any], Any]:
    def convert(value: Any, _: Any) -> Any:
        if isinstance(value, str):
            return parse(value)
        raise ValueError(f'must be a {what} with its unit, in quotes, such as "{example}"')

    return convert


def _policy(value: Any, _: Any) -> PolicyConfig:
    if isinstance(value, str):
        return PolicyConfig(value)
    if not isinstance(value, Mapping) or not isinstance(value.get("policy"), str):
        raise ValueError("must be the name of a policy, or a table with the key `policy`")
    options: dict[str, Option] = {}
    for name, option in value.items():
        if not isinstance(option, int | float | str | bool):
            raise ValueError(f"option {name!r} must be a number, a string, true or false")
        if type(option) is int and abs(option) > MOST_NUMBER:
            raise ValueError(f"option {name!r} must be of 62 bits at most")
        if name != "policy":
            options[name] = option
    return PolicyConfig(value["policy"], options)


def _lists_only(inner: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A string is no list of its letters."""

    def check(value: Any, kind: Any) -> Any:
        if not isinstance(value, list | tuple):
            raise ValueError('must be a list of names, such as ["L1", "L2", "walk"]')
        return inner(value, kind)

    return check


def _is_names(kind: Any) -> bool:
    return get_origin(kind) is tuple and get_args(kind) == (str, ...)


def _is_table(kind: Any) -> bool:
    origin: object = get_origin(kind)
    return attrs.has(kind) or origin is Mapping


def _tables_only(inner: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def check(value: Any, kind: Any) -> Any:
        if not isinstance(value, Mapping):
            raise ValueError("must be a table")
        return inner(value, kind)

    return check


@cache
def _converter(places: bool) -> cattrs.Converter:
    """A converter of tables.

    Args:
        places: whether its errors tell all mistakes and their places; its code is longer to make.
    """
    converter = cattrs.Converter(
        forbid_extra_keys=True, prefer_attrib_converters=False, detailed_validation=places
    )

    def table(cls: Any) -> Callable[[Any, Any], Any]:
        return _tables_only(
            make_dict_structure_fn(cls, converter, _cattrs_forbid_extra_keys=True)
            if attrs.has(cls)
            else mapping_structure_factory(cls, converter, detailed_validation=places)
        )

    converter.register_structure_hook_factory(_is_table, table)
    converter.register_structure_hook(int, _strict(int, "a whole number"))
    converter.register_structure_hook(float, _strict(float, "a number"))
    converter.register_structure_hook(str, _strict(str, "a string"))
    converter.register_structure_hook(bool, _strict(bool, "true or false"))
    converter.register_structure_hook(Bytes, _quantity(parse_bytes, "size", "16KiB"))
    converter.register_structure_hook(Hertz, _quantity(parse_hertz, "frequency", "1400MHz"))
    converter.register_structure_hook(Bandwidth, _quantity(parse_bandwidth, "bandwidth", "12GB/s"))
    converter.register_structure_hook(
        Duration, _quantity(parse_duration, "time", '10 cycles" or "12ns')
    )
    converter.register_structure_hook(PolicyConfig, _policy)
    names = homogenous_tuple_structure_factory(tuple[str, ...], converter)
    converter.register_structure_hook_func(_is_names, _lists_only(names))
    return converter


def _problems(error: Exception, key: Key) -> Iterator[Problem]:
    """Each single mistake in an error of cattrs, with the key that it is about."""
    if isinstance(error, ClassValidationError):
        attributes, rest = error.group_exceptions()
        for inner, attribute in attributes:
            yield from _problems(inner, (*key, attribute.name))
        for inner in rest:
            yield from _problems(inner, key)
    elif isinstance(error, IterableValidationError):
        entries, rest = error.group_exceptions()
        for inner, entry in entries:
            yield from _problems(inner, (*key, str(entry.index)))
        for inner in rest:
            yield from _problems(inner, key)
    elif isinstance(error, ForbiddenExtraKeysError):
        allowed = [attribute.name for attribute in attrs.fields(error.cl)]
        for name in sorted(error.extra_fields):
            yield Problem((*key, name), _unknown(name, allowed))
    elif isinstance(error, KeyError):
        yield Problem(key, "is missing")
    else:
        yield _invalid(error, key)


def _invalid(error: Exception, key: Key) -> Problem:
    """What a converter or validator says; those of attrs give the field and more beside it."""
    if len(error.args) < 2:
        return Problem(key, str(error))
    message, attribute, *rest = error.args
    if isinstance(attribute, attrs.Attribute):
        key = (*key, attribute.name)
    if rest and isinstance(rest[0], tuple):  # `in_`
        allowed = [repr(one) for one in rest[0] if one != ""]
        wrong = rest[-1]
        near = nearest(str(wrong), [str(one) for one in rest[0]])
        return Problem(key, f"must be one of {', '.join(allowed)}, not {wrong!r}{near}")
    return Problem(key, str(message))
