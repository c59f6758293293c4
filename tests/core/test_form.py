"""What is compiled is what `pyproject.toml` says, or nothing."""

import ast
import tomllib
from collections.abc import Iterator
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import gpusim
from gpusim.core.version import form
from tests import ROOT

PACKAGE = Path(gpusim.__file__).parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
HOOK = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["custom"]


def compiled() -> set[Path]:
    """The modules that are compiled, from the package, where anything is."""
    shall = {path for place in HOOK["compiled"] for path in modules(place)}
    return shall - {Path(path).relative_to("gpusim") for path in HOOK["interpreted"]}


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
    if form() == "pure Python":
        assert not extensions
    else:
        assert extensions == {
            path.with_name(path.stem + suffix) for path in (*compiled(), Path("native__mypyc.py"))
        }


def test_no_compiled_class_is_initialised_twice() -> None:
    """As mypyc does with one that inherits its initialiser and is not as open as where that is.

    What may be subclassed in Python is initialised as Python does it, all else when it is made;
    what inherits from both, by both, and what was there after the first time is never freed.
    """
    classes = {node.name: node for node in _compiled_classes()}
    twice = []
    for name, node in classes.items():
        first: ast.ClassDef | None = node
        while first is not None and not _has_init(first):
            bases = [ast.unparse(base).partition("[")[0] for base in first.bases]
            first = next((classes[base] for base in bases if base in classes), None)
        if first is not None and first is not node and _is_open(first) and not _is_open(node):
            twice.append(f"{name}, as {first.name}")
    assert not twice
    assert _is_open(classes["L2Bank"])
    assert _has_init(classes["L2Bank"])


def test_no_compiled_class_is_asked_for_an_attribute_of_its_objects() -> None:
    """Compiled, `cls.name` is a descriptor where `name` is no `ClassVar`, and no value."""
    of_objects = {name for node in _compiled_classes() for name in _plain_attributes(node)}
    known = {node.name for node in _compiled_classes()} | {"cls"}
    asked = [
        f"{path}:{node.lineno}: {ast.unparse(node)}"
        for path in sorted(compiled())
        for node in ast.walk(ast.parse((PACKAGE / path).read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in known
        and node.attr in of_objects
    ]
    assert not asked
    assert "reads_only" in of_objects


def _plain_attributes(node: ast.ClassDef) -> Iterator[str]:
    """What a class states for its objects; an enum states its members."""
    if any(ast.unparse(base).endswith("Enum") for base in node.bases):
        return
    for one in node.body:
        targets: list[ast.expr] = []
        if isinstance(one, ast.Assign):
            targets = one.targets
        elif isinstance(one, ast.AnnAssign) and "ClassVar" not in ast.unparse(one.annotation):
            targets = [one.target]
        yield from (target.id for target in targets if isinstance(target, ast.Name))


def _compiled_classes() -> Iterator[ast.ClassDef]:
    for path in sorted(compiled()):
        for node in ast.parse((PACKAGE / path).read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                yield node


def _has_init(node: ast.ClassDef) -> bool:
    """Whether it states an initialiser, or attrs makes one."""
    made = any(ast.unparse(one).startswith("attr.s") for one in node.decorator_list)
    return made or any(getattr(one, "name", "") == "__init__" for one in node.body)


def _is_open(node: ast.ClassDef) -> bool:
    """Whether it may be subclassed in Python."""
    stated = [ast.unparse(one) for one in node.decorator_list]
    return "mypyc_attr(allow_interpreted_subclasses=True)" in stated
