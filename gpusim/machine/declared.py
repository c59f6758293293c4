"""Declarations of a class: methods with their parameters, what is abstract, names with types.

A compiled class does not hold that itself; a table does, which was made when it was compiled.
"""

from __future__ import annotations
import __future__

import inspect
import json
import sys
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

from gpusim.machine.class_table import ClassTable, Declared

TABLE = Path(__file__).with_name("compiled_classes.json")
"""The table of compiled modules; where nothing is compiled, there is none."""


def signature(thing: Any) -> inspect.Signature:
    """The parameters of a method, or those that a class is made with.

    Raises:
        ValueError: they are not known.
    """
    if isinstance(thing, type):
        return _signature_of_class(thing)
    if isinstance(thing, FunctionType):
        return _signature_of_function(thing)
    owner = getattr(thing, "__objclass__", None)
    if owner is not None and is_compiled(owner):
        return _from_table(owner, thing.__name__)
    return inspect.signature(thing)


@cache
def _signature_of_class(cls: type) -> inspect.Signature:
    maker = next(one for one in cls.__mro__ if "__init__" in declared_names(one))
    if not is_compiled(maker):
        return inspect.signature(cls)
    return _without_self(_from_table(maker, "__init__"))


_signature_of_function = cache(inspect.signature)


def is_method(thing: object) -> bool:
    """Whether it is a method of a class, of which no object has been made: not a property."""
    if isinstance(thing, FunctionType):
        return True
    owner = getattr(thing, "__objclass__", object)
    return inspect.isroutine(thing) and is_compiled(owner)


@cache
def abstract_names(cls: type) -> tuple[str, ...]:
    """Methods that a class, or one that it inherits from, asks for and does not have."""
    lacking: dict[str, None] = {}
    for base in reversed(cls.__mro__):
        for name in declared_names(base):
            if _is_abstract(base, name):
                lacking[name] = None
            else:
                lacking.pop(name, None)
    return tuple(sorted(lacking))


def declared_names(cls: type) -> tuple[str, ...]:
    """Names in the body of a class, also of attributes that have a type and no value."""
    if is_compiled(cls):
        return tuple(_declared(cls))
    annotations = vars(cls).get("__annotations__")  # of metaclasses and modules, a descriptor
    named = annotations if isinstance(annotations, dict) else ()
    return tuple(dict.fromkeys((*vars(cls), *named)))


def is_compiled(cls: type) -> bool:
    """Whether a class comes from a compiled module."""
    return cls.__module__ in _table()


def _is_abstract(cls: type, name: str) -> bool:
    if not is_compiled(cls):
        return bool(getattr(vars(cls).get(name), "__isabstractmethod__", False))
    return bool(_declared(cls).get(name, {}).get("abstract"))


@cache
def _table() -> ClassTable:
    if not TABLE.is_file():
        return {}
    table: ClassTable = json.loads(TABLE.read_text(encoding="utf-8"))
    return table


def _declared(cls: type) -> dict[str, Declared]:
    """What is in the body of a compiled class, by name."""
    return _table()[cls.__module__].get(cls.__qualname__, {})


@cache
def _from_table(cls: type, name: str) -> inspect.Signature:
    """The parameters of a method of a compiled class: of a function that has them, and no body."""
    parameters = _declared(cls).get(name, {}).get("parameters")
    if parameters is None:
        raise ValueError(f"{cls.__qualname__} declares no method {name}")
    names = dict(vars(sys.modules[cls.__module__]))
    flags = __future__.annotations.compiler_flag
    text = f"def {name}({parameters}): pass"
    exec(compile(text, cls.__module__, "exec", flags), names)  # noqa: S102  (gpusim's own source)
    return inspect.signature(names[name])


def _without_self(whole: inspect.Signature) -> inspect.Signature:
    return whole.replace(parameters=list(whole.parameters.values())[1:])
