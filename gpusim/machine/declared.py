"""What a class declares: methods with their parameters, what is abstract, names with types.

A compiled class no longer tells that by itself; its source, which lies beside it, does.
"""

from __future__ import annotations
import __future__

import ast
import inspect
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import FunctionType
from typing import Any

_ABSTRACT = "abstractmethod"


def signature(thing: Any) -> inspect.Signature:
    """The parameters of a method, or those that a class is made with.

    Raises:
        ValueError: they are not known.
    """
    if isinstance(thing, type):
        maker = next(cls for cls in thing.__mro__ if "__init__" in declared_names(cls))
        if not is_compiled(maker):
            return inspect.signature(thing)
        return _without_self(_from_source(maker, "__init__"))
    owner = getattr(thing, "__objclass__", None)
    if owner is not None and is_compiled(owner):
        return _from_source(owner, thing.__name__)
    return inspect.signature(thing)


def is_method(thing: object) -> bool:
    """Whether it is a method of a class, of which no object has been made: not a property."""
    if isinstance(thing, FunctionType):
        return True
    owner = getattr(thing, "__objclass__", object)
    return inspect.isroutine(thing) and is_compiled(owner)


def abstract_names(cls: type) -> list[str]:
    """Methods that a class, or one that it inherits from, asks for and does not have."""
    lacking: dict[str, None] = {}
    for base in reversed(cls.__mro__):
        for name in declared_names(base):
            if _is_abstract(base, name):
                lacking[name] = None
            else:
                lacking.pop(name, None)
    return sorted(lacking)


def declared_names(cls: type) -> tuple[str, ...]:
    """Names in the body of a class, also of attributes that have a type and no value."""
    if is_compiled(cls):
        return tuple(_statements(cls))
    return tuple(dict.fromkeys((*vars(cls), *vars(cls).get("__annotations__", ()))))


def is_compiled(cls: type) -> bool:
    """Whether a class comes from a compiled module."""
    return _source(cls.__module__) is not None


def _is_abstract(cls: type, name: str) -> bool:
    if not is_compiled(cls):
        return bool(getattr(vars(cls).get(name), "__isabstractmethod__", False))
    function = _statements(cls).get(name)
    return isinstance(function, ast.FunctionDef) and any(
        isinstance(one, ast.Name) and one.id == _ABSTRACT for one in function.decorator_list
    )


@cache
def _source(module_name: str) -> Path | None:
    """The source of a compiled module; None: it is not compiled.

    A compiled module that another compiled one has imported may tell a place that is not there, so
    its source is looked for in its package.
    """
    module = sys.modules.get(module_name)
    told = getattr(getattr(module, "__spec__", None), "origin", None) or ""
    package, _, name = module_name.rpartition(".")
    folders = getattr(sys.modules.get(package), "__path__", ())
    sources = (Path(folder) / f"{name}.py" for folder in folders)
    if not told.endswith(tuple(EXTENSION_SUFFIXES)):
        return None
    return next((source for source in sources if source.is_file()), None)


@cache
def _statements(cls: type) -> Mapping[str, ast.stmt]:
    """What stands in the body of a compiled class, by name."""
    source = _source(cls.__module__)
    assert source is not None
    tree = ast.parse(source.read_text(encoding="utf-8"))
    body = next(
        one.body for one in tree.body if isinstance(one, ast.ClassDef) and one.name == cls.__name__
    )
    return {name: one for one in body for name in _names(one)}


def _names(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.FunctionDef):
        yield statement.name
    elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        yield statement.target.id
    elif isinstance(statement, ast.Assign):
        yield from (one.id for one in statement.targets if isinstance(one, ast.Name))


@cache
def _from_source(cls: type, name: str) -> inspect.Signature:
    """The parameters of a method of a compiled class: of a function that has them, and no body."""
    found = _statements(cls).get(name)
    if not isinstance(found, ast.FunctionDef):
        raise ValueError(f"{cls.__qualname__} declares no method {name}")
    stub = ast.FunctionDef(name, found.args, [ast.Pass()], [])
    tree = ast.fix_missing_locations(ast.Module([stub], []))
    names = dict(vars(sys.modules[cls.__module__]))
    flags = __future__.annotations.compiler_flag
    exec(compile(tree, cls.__module__, "exec", flags), names)  # noqa: S102  (gpusim's own source)
    return inspect.signature(names[name])


def _without_self(whole: inspect.Signature) -> inspect.Signature:
    return whole.replace(parameters=list(whole.parameters.values())[1:])
