"""What is compiled is what `pyproject.toml` says, or nothing."""

import tomllib
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import gpusim
from gpusim.core.version import form

PACKAGE = Path(gpusim.__file__).parent
PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
HOOK = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["custom"]


def modules(place: str) -> set[Path]:
    """Of a folder of the project, or the module that it is itself, from the package."""
    path = PACKAGE.parent / place
    found = [path] if path.is_file() else path.rglob("*.py")
    return {path.relative_to(PACKAGE) for path in found if path.name != "__init__.py"}


def test_what_stays_interpreted_is_there() -> None:
    known = {path for folder in HOOK["compiled"] for path in modules(folder)}
    assert known
    assert {Path(path).relative_to("gpusim") for path in HOOK["interpreted"]} <= known


def test_each_module_that_shall_be_compiled_is_or_none() -> None:
    suffix = EXTENSION_SUFFIXES[0]
    extensions = {path.relative_to(PACKAGE) for path in PACKAGE.rglob(f"*{suffix}")}
    shall = {path for folder in HOOK["compiled"] for path in modules(folder)}
    shall -= {Path(path).relative_to("gpusim") for path in HOOK["interpreted"]}
    if form() == "pure Python":
        assert not extensions
    else:
        assert extensions == {
            path.with_name(path.stem + suffix) for path in (*shall, Path("native__mypyc.py"))
        }
