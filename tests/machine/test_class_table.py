"""The table of compiled classes tells what classes tell themselves where they are not compiled."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import pytest

import gpusim
from gpusim.core.replacement import Lru, Replacement
from gpusim.core.version import form
from gpusim.hardware.tlb import SetAssociativeArray, TlbArray
from gpusim.machine import declared
from gpusim.machine.class_table import class_table

CLASSES = (Replacement, Lru, TlbArray, SetAssociativeArray)


def forget() -> None:
    """What is known of classes is looked up again."""
    declared._table.cache_clear()
    declared._from_table.cache_clear()
    declared._signature_of_class.cache_clear()
    declared.abstract_names.cache_clear()


@pytest.fixture
def of_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Classes tell what the table says, as if they were compiled."""
    root = Path(gpusim.__file__).parents[1]
    modules = {cls.__module__ for one in CLASSES for cls in one.__mro__ if cls is not object}
    sources = {
        name: (root / f"{name.replace('.', '/')}.py").read_text(encoding="utf-8")
        for name in modules
        if name.startswith("gpusim.")
    }
    path = tmp_path / "table.json"
    path.write_text(json.dumps(class_table(sources)), encoding="utf-8")
    monkeypatch.setattr(declared, "TABLE", path)
    forget()
    yield
    monkeypatch.undo()
    forget()


@pytest.mark.skipif(form() != "pure Python", reason="compiled classes do not tell it themselves")
@pytest.mark.parametrize("cls", CLASSES)
def test_the_table_tells_the_same(cls: type, of_table: None, request) -> None:
    assert declared.is_compiled(cls)
    told = declared.signature(cls)
    own = list(inspect.signature(cls).parameters.values())
    assert [(one.name, one.kind, one.default) for one in told.parameters.values()] == [
        (one.name, one.kind, one.default) for one in own
    ]
    abstract = getattr(cls, "__abstractmethods__", None)
    marked = {
        name
        for name in dir(cls)
        if getattr(getattr(cls, name, None), "__isabstractmethod__", False)
    }
    assert set(declared.abstract_names(cls)) == (abstract or marked)
    assert {name for name in vars(cls) if inspect.isfunction(vars(cls)[name])} <= set(
        declared.declared_names(cls)
    )


def test_what_a_class_declares() -> None:
    text = """
from abc import abstractmethod

class A:
    width: int
    height: int = 2
    depth = 3

    def __init__(self, x: int, /, *, y: str = "a") -> None: ...

    @abstractmethod
    def ask(self, *names: str, **options: int) -> bool: ...
"""
    assert class_table({"m": text}) == {
        "m": {
            "A": {
                "width": {"abstract": False},
                "height": {"abstract": False},
                "depth": {"abstract": False},
                "__init__": {"abstract": False, "parameters": "self, x: int, /, *, y: str='a'"},
                "ask": {
                    "abstract": True,
                    "parameters": "self, *names: str, **options: int",
                },
            }
        }
    }
