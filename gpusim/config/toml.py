"""A resolved model as TOML that loads back to the same machine."""

from __future__ import annotations

import json
from collections.abc import Iterable

from gpusim.config.value import Value


def to_toml(values: Iterable[Value]) -> str:
    """Every value with its unit, its citation as a comment, table by table."""
    tables: dict[str, list[Value]] = {"": []}
    for value in values:
        tables.setdefault(value.table, []).append(value)
    return "\n".join(_table(name, inside) for name, inside in tables.items())


def _table(name: str, values: Iterable[Value]) -> str:
    header = f"[{name}]\n" if name else ""
    return header + "".join(_line(value) + "\n" for value in values)


def _line(value: Value) -> str:
    text = f"{value.name} = {_scalar(value.value)}"
    return f"{text:<32} # {value.citation}" if value.citation else text


def _scalar(value: int | float | str | bool) -> str:
    """JSON writes scalars as TOML does, but for escapes of U+007F, which TOML wants."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
