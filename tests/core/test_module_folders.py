"""Modules that are known by where they lie."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gpusim.core.module_folders import import_all


def test_a_module_that_comes_later_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Folders of users change while a notebook runs; gpusim's own are listed once."""
    folder = tmp_path / "rooms_of_a_test"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "first.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    names = [[one.__name__ for one in import_all(folder.name)]]
    (folder / "second.py").write_text("")
    names.append([one.__name__ for one in import_all(folder.name)])
    for name in [name for name in sys.modules if name.startswith(folder.name)]:
        monkeypatch.delitem(sys.modules, name)
    assert names == [
        ["rooms_of_a_test.first"],
        ["rooms_of_a_test.first", "rooms_of_a_test.second"],
    ]
