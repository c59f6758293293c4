"""Facts about keys of a model, as metadata of the schema's fields, and what follows from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, get_args, get_origin

import attrs

from gpusim.core.policy import PolicyConfig
from gpusim.files.structure import as_written, fields_of, present

LATER: Final = "later"
"""In the metadata of a field: the key came after digests were defined."""

ANY: Final = "*"
"""In a key: any name that a model makes up, such as that of a TLB level."""


def later(default: Any) -> Any:
    """A field whose key came after digests were defined.

    Only a value other than the default counts in a digest, so that runs of machines that do not
    use the key keep theirs.

    Args:
        default: of the key, or a field that has one.
    """
    field: Any = default if hasattr(default, "metadata") else attrs.field(default=default)
    field.metadata = {**field.metadata, LATER: True}
    return field


def later_keys(cls: type, without: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Dotted keys below a schema class that are `later`, with their defaults as files write them.

    Args:
        cls: of the schema.
        without: tables that are not looked into.
    """
    for key, field in _keys(cls):
        if field.metadata.get(LATER) and key.partition(".")[0] not in without:
            default: Any = field.default
            yield key, as_written(default, present(field.type))


def optional_keys(cls: type) -> tuple[str, ...]:
    """Dotted keys below a schema class that a machine need not have."""
    return tuple(
        key for key, field in _keys(cls) if key.endswith(ANY) or type(None) in get_args(field.type)
    )


def _keys(cls: type, prefix: str = "") -> Iterator[tuple[str, attrs.Attribute[Any]]]:
    """Every key below a schema class, the tables before what is in them."""
    for field in fields_of(cls):
        key, kind = f"{prefix}{field.name}", present(field.type)
        yield key, field
        if get_origin(kind) in (Mapping, dict) and attrs.has(get_args(kind)[1]):
            key, kind = f"{key}.{ANY}", get_args(kind)[1]
            yield key, field
        if attrs.has(kind) and kind is not PolicyConfig:
            yield from _keys(kind, f"{key}.")
