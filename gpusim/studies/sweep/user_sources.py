"""Source of the user's policies and programs: runs are known by it."""

from __future__ import annotations

import ast
import inspect
import linecache
import sys
import textwrap
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import attrs
import numpy as np

from gpusim.config.load import LoadedModel
from gpusim.core.errors import UserError
from gpusim.files.structure import fields_of
from gpusim.studies.sweep.code import own_policies, own_programs
from gpusim.workloads.workload import Workload

_MAIN = "__main__"
"""The module of a script's or notebook's own code."""


def own_code(model: LoadedModel, workload: Workload) -> dict[str, str]:
    """Source of the user's policies and programs, by module.

    Of a script or notebook, which also holds what has nothing to do with a run, it is that of the
    classes, and of all functions, classes, numbers and texts that these name. Of any other
    module, all of it.

    Raises:
        UserError: the source cannot be found, so a change of it would go unnoticed.
    """
    things: list[object] = [cls for _, _, cls in own_policies(model)]
    things += [kind.make for kind in own_programs(workload)]
    sources: dict[str, str] = {}
    for thing in things:
        module = str(getattr(thing, "__module__", ""))
        try:
            if module == _MAIN:
                _add(thing, sources)
            else:
                sources[module] = inspect.getsource(sys.modules[module])
        except (OSError, TypeError, SyntaxError) as error:
            raise UserError(
                f"cannot find the source of {thing!r}, by which a sweep knows its runs: {error}; "
                "put it into a file"
            ) from error
    return sources


def _add(thing: object, sources: dict[str, str]) -> None:
    """Add a class or function of a script, and what it uses from there."""
    name = f"{_MAIN}.{getattr(thing, '__qualname__', '')}"
    if name in sources:
        return
    sources[name] = _source(thing)
    for used, value in _used(sources[name]):
        if getattr(value, "__module__", "") == _MAIN and isinstance(value, type | FunctionType):
            _add(value, sources)
        elif _is_plain(value):
            sources[f"{_MAIN}.{used}"] = repr(value)
        elif isinstance(value, np.ndarray):
            sources[f"{_MAIN}.{used}"] = f"{value.dtype} {value.shape} {value.tobytes().hex()}"


def _used(source: str) -> Iterator[tuple[str, object]]:
    """Names in a source that the script gives a value; of a kernel, its function."""
    there = vars(sys.modules[_MAIN])
    nodes = ast.walk(ast.parse(textwrap.dedent(source)))
    for name in sorted({node.id for node in nodes if isinstance(node, ast.Name)}):
        if name in there:
            yield name, getattr(there[name], "__wrapped__", there[name])


def _is_plain(value: object) -> bool:
    if isinstance(value, dict):
        return all(map(_is_plain, (*value.keys(), *value.values())))
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, bool | int | float | str | bytes)


def _source(thing: object) -> str:
    """`inspect.getsource`, which finds no classes of notebooks: their module has no file."""
    try:
        return inspect.getsource(thing)  # type: ignore[arg-type]
    except (OSError, TypeError):
        for value in vars(thing).values():
            function = getattr(value, "fget", None) or getattr(value, "__func__", value)
            if isinstance(function, FunctionType) and (found := _class_around(function, thing)):
                return found
        if isinstance(thing, type) and attrs.has(thing):
            return attributes_text(thing)
        raise


def attributes_text(cls: type[attrs.AttrsInstance]) -> str:
    """What an attrs class without methods is, as parameters of a program are, without a source."""
    return repr([f"{one.name}: {one.type} = {_default(one)!r}" for one in fields_of(cls)])


def _default(attribute: attrs.Attribute[Any]) -> object:
    """The default of a field; what makes it has another name in each process."""
    default: Any = attribute.default
    return default.factory() if hasattr(default, "factory") and not default.takes_self else default


def _class_around(function: FunctionType, cls: object) -> str:
    """The statement `class` that a function was defined in, in the text of its cell."""
    code = function.__code__
    lines = linecache.getlines(code.co_filename)
    for node in ast.walk(ast.parse("".join(lines))):
        if isinstance(node, ast.ClassDef) and node.name == getattr(cls, "__name__", ""):
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            last = node.end_lineno or first
            if first <= code.co_firstlineno <= last:
                return "".join(lines[first - 1 : last])
    return ""
