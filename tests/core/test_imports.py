"""Imports are statements: contracts on who imports whom would not see others."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import gpusim
from tests.quick import quick

PACKAGE = Path(gpusim.__file__).parent
LOADERS = {"core/module_folders.py", "core/user_code.py"}
"""What imports by a name made at run time: gpusim's own folders, and code that a user names."""

HARMLESS = {
    *("importlib.machinery.EXTENSION_SUFFIXES", "importlib.metadata", "importlib.resources"),
    *("importlib.util.find_spec",),
}
FORBIDDEN = {"imp", "importlib", "pkgutil", "runpy", "zipimport"}
NAMES = {"__import__", "exec_module", "import_module", "load_module", "module_from_spec"}
NAMED = re.compile(rf"\b({'|'.join(FORBIDDEN | NAMES)})\b")
"""Few modules have any of these words, and need be parsed."""


def imports_at_run_time(source: str) -> Iterator[str]:
    """What a module has with which it could import by a name."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found = [one.name for one in node.names]
        elif isinstance(node, ast.ImportFrom):
            found = [f"{node.module}.{one.name}" for one in node.names]
        else:
            found = [getattr(node, "id", ""), getattr(node, "attr", "")]
            yield from (name for name in found if name in NAMES)
            continue
        for name in found:
            if name.partition(".")[0] in FORBIDDEN and name not in HARMLESS:
                yield name


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import importlib", ["importlib"]),
        ("import importlib.util as u\nu.module_from_spec", ["importlib.util", "module_from_spec"]),
        ("from importlib import import_module as get", ["importlib.import_module"]),
        ("def later():\n    return __import__('gpusim.views')", ["__import__"]),
        ("import builtins\nbuiltins.__import__('os')", ["__import__"]),
        ("from importlib.util import find_spec\nimport os.path", []),
    ],
)
def test_what_is_found(source: str, found: list[str]):
    assert list(imports_at_run_time(source)) == found


def test_only_loaders_import_by_names_made_at_run_time():
    told = {
        path.relative_to(PACKAGE).as_posix(): found
        for path in PACKAGE.rglob("*.py")
        if "data" not in path.relative_to(PACKAGE).parts
        and NAMED.search(text := path.read_text(encoding="utf-8"))
        and (found := list(imports_at_run_time(text)))
    }
    assert set(told) == LOADERS, told


@pytest.mark.parametrize("part", quick(["hardware", "."], "hardware"))
def test_pure_python_needs_no_runtime_library_of_compiled_code(part: str):
    """`librt` is installed beside the type checker, too, which would hide that it is imported."""
    code = (
        "import sys\n"
        "sys.modules['librt'] = None\n"
        "import gpusim\n"
        "from gpusim.core.module_folders import import_all\n"
        "from pathlib import Path\n"
        "root = Path(gpusim.__file__).parent\n"
        f"for folder in sorted({{path.parent for path in (root / {part!r}).rglob('*.py')}}):\n"
        "    name = '.'.join(('gpusim', *folder.relative_to(root).parts))\n"
        "    if 'data' not in name and name not in {'gpusim', 'gpusim.core.compiled_only'}:\n"
        "        import_all(name)\n"
        "        print(name)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "gpusim.hardware.sm" in done.stdout.split()
