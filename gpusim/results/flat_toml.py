"""A TOML text as flat values."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any


def by_dotted_key(toml: str) -> dict[str, object]:
    """All values of a TOML text; those of an array of tables by the names that these have.

    ``applications = [{ name = "atax", n = 64 }]`` gives ``applications.atax.n``.
    """
    return dict(_values(tomllib.loads(toml), ""))


def _values(table: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, object]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _values(value, f"{prefix}{name}.")
        elif isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
            for i, one in enumerate(value):
                yield from _values(one, f"{prefix}{name}.{one.get('name', i)}.")
        else:
            yield prefix + name, value
