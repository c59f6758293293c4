"""Compiles the hot half of gpusim with mypyc while a wheel is built, where there is a C compiler.

`GPUSIM_COMPILE` decides: ``0`` leaves the wheel pure Python, ``1`` makes it an error that it
cannot be compiled, and without it a wheel that cannot be compiled is pure Python, and a line says
so.  Editable installs are never compiled.  What is compiled stands in `pyproject.toml`, under
``[tool.hatch.build.targets.wheel.hooks.custom]``.

The sources stay in the wheel beside the extensions: they tell what compiled classes no longer do.
"""

from __future__ import annotations

import json
import os
import runpy
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

VARIABLE = "GPUSIM_COMPILE"
PACKAGE = "gpusim"

NEEDS = ["mypy[mypyc]>=2.4,<3", "mypy-extensions>=1.0", "attrs>=23.2"]
"""What a build that compiles needs; attrs for its types."""

UNITS = 8
"""C files that a compiler gets."""

RUNTIME = ["librt>=0.16,<1"]
"""What a compiled wheel needs beside what each needs: vectors of integers."""

SETTINGS = """
[mypy]
python_version = 3.11
ignore_missing_imports = True
follow_imports = skip
always_true = MYPYC

[mypy-gpusim.config.*,gpusim.core.*,gpusim.files.*,gpusim.hardware.*]
follow_imports = silent

[mypy-numpy.*]
follow_imports_for_stubs = True

[mypy-librt.*]
follow_imports = silent
follow_imports_for_stubs = True
"""
"""Of mypy: the same types, and so the same code, whatever else is installed."""


class CompileHook(BuildHookInterface[Any]):
    """See the module's docstring."""

    def dependencies(self) -> list[str]:
        return NEEDS if self._obstacle() is None else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable" or self._wanted() == "0":
            return
        self._work = TemporaryDirectory(prefix="gpusim-")
        work = Path(self._work.name)
        obstacle = self._obstacle() or self._compile(work)
        if obstacle is not None:
            self._go_without(obstacle)
            return
        built = work / "built"
        for extension in _extensions(built):
            build_data["force_include"][str(extension)] = extension.relative_to(built).as_posix()
        table = work / "compiled_classes.json"
        table.write_text(json.dumps(self._class_table()), encoding="utf-8")
        build_data["force_include"][str(table)] = f"{PACKAGE}/machine/{table.name}"
        build_data["dependencies"] = RUNTIME
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if hasattr(self, "_work"):
            self._work.cleanup()

    def _wanted(self) -> str:
        """``"0"``, ``"1"``, or ``""``: if it can be."""
        wanted = os.environ.get(VARIABLE, "")
        if wanted not in {"", "0", "1"}:
            self.app.abort(
                f"{VARIABLE}={wanted!r} is not allowed; allowed: 0 (pure Python), 1 (compiled, or "
                "an error), or no such variable (compiled where there is a C compiler)"
            )
        return wanted

    def _obstacle(self) -> str | None:
        """Why nothing can or shall be compiled, as far as that is known beforehand."""
        if self._wanted() == "0":
            return f"{VARIABLE}=0"
        if sys.implementation.name != "cpython":
            return f"mypyc compiles for CPython, not for {sys.implementation.name}"
        compiler = os.environ.get("CC") or sysconfig.get_config_var("CC")
        if compiler and shutil.which(shlex.split(compiler)[0]) is None:
            return f"there is no C compiler ({compiler})"
        return None  # on Windows, setuptools finds it, or does not

    def _compile(self, work: Path) -> str | None:
        """Compile into ``built`` in a folder; returns why that failed, or None."""
        modules = list(self._modules())
        for module in Path(self.root, PACKAGE).rglob("*.py"):
            copy = work / module.relative_to(self.root)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(module, copy)
        (work / "mypy.ini").write_text(SETTINGS, encoding="utf-8")
        command = [sys.executable, "-P", str(Path(__file__).resolve()), *modules]
        done = subprocess.run(  # noqa: S603  (this file, with paths of the project)
            command,
            cwd=work,
            text=True,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        if done.returncode == 0:
            return None
        sys.stderr.write(done.stdout)
        return next(reversed(done.stdout.split("\n")[:-1]), f"exit code {done.returncode}")

    def _modules(self) -> Iterator[str]:
        """Paths of what is compiled, from the root of the project."""
        root, stay = Path(self.root), set(self.config["interpreted"])
        for place in self.config["compiled"]:
            modules = [root / place] if place.endswith(".py") else (root / place).rglob("*.py")
            for module in sorted(modules):
                path = module.relative_to(root).as_posix()
                if module.name != "__init__.py" and path not in stay:
                    yield path

    def _class_table(self) -> dict[str, Any]:
        """What compiled classes declare, which they do not tell themselves."""
        make = runpy.run_path(str(Path(self.root, PACKAGE, "machine", "class_table.py")))
        sources = {
            path.removesuffix(".py").replace("/", "."): Path(self.root, path).read_text("utf-8")
            for path in self._modules()
        }
        table: dict[str, Any] = make["class_table"](sources)
        return table

    def _go_without(self, obstacle: str) -> None:
        if self._wanted() == "1":
            self.app.abort(f"{VARIABLE}=1, but gpusim cannot be compiled: {obstacle}")
        line = f"gpusim is built as pure Python, which simulates several times slower: {obstacle}"
        self.app.display_warning(line)
        _tell_terminal(line)


def _extensions(folder: Path) -> list[Path]:
    suffixes = tuple(EXTENSION_SUFFIXES)
    return sorted(path for path in folder.rglob("*") if path.name.endswith(suffixes))


def _tell_terminal(line: str) -> None:
    """Write a line to the terminal itself: pip shows nothing of a build that succeeds."""
    if not sys.stderr.isatty():
        with suppress(OSError):  # there is no terminal
            Path("/dev/tty").write_text(f"\n{line}\n", encoding="utf-8")


def _in_units(sources: list[str]) -> list[str]:
    """C files that include several others each, of about the same size.

    All of these read the same headers, of megabytes: each unit does so once.
    """
    if len(sources) < UNITS:
        return sources
    sizes = [Path(source).stat().st_size for source in sources]
    lines: list[list[str]] = [[] for _ in range(UNITS)]
    before = 0
    for source, size in zip(sources, sizes, strict=True):
        path = Path(source).resolve().as_posix()
        lines[before * UNITS // (sum(sizes) + 1)].append(f'#include "{path}"\n')
        before += size
    units = []
    for number, included in enumerate(lines):
        unit = Path("build", f"unit{number}.c")
        unit.write_text("".join(included), encoding="utf-8")
        units.append(str(unit))
    return units


_INSIDE = ["-fvisibility=hidden", "-fno-semantic-interposition"]
"""Of compilers of POSIX systems: no other library calls into ours, calls within it go straight."""

_WHOLE_PROGRAM = (["-O2", "-flto=auto"], ["-O2", "-flto"])
"""Units are compiled together, by GCC on all cores: what reads a list, or a port, is part of what
calls it.  The first that the compiler takes is used."""


def _takes(options: list[str]) -> bool:
    """Whether the C compiler makes a library with these options."""
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "")
    if os.name != "posix" or not compiler:
        return False
    with TemporaryDirectory(prefix="gpusim-") as folder:
        source = Path(folder, "one.c")
        source.write_text("int one(void) { return 1; }\n", encoding="utf-8")
        made = [*options, "-fPIC", "-shared", "-o", str(Path(folder, "one.so")), str(source)]
        done = subprocess.run(  # noqa: S603  (the compiler that builds extensions)
            [*compiler, *made], capture_output=True, check=False
        )
    return done.returncode == 0


def compile_modules(modules: list[str]) -> None:
    """Compile modules of the package in the current folder into its folder ``built``."""
    from mypyc.build import mypycify
    from setuptools import setup
    from setuptools.command.build_ext import build_ext

    cores = os.cpu_count() or 1

    class BuildOnAllCores(build_ext):
        """Hands every C file to a pool; an extension is linked when all that were are compiled."""

        def build_extensions(self) -> None:
            compile_one, link = self.compiler._compile, self.compiler.link
            running: list[Future[None]] = []

            def link_compiled(*args: Any, **options: Any) -> None:
                while running:
                    running.pop().result()
                link(*args, **options)

            with ThreadPoolExecutor(cores) as pool:
                self.compiler._compile = lambda *args: running.append(
                    pool.submit(compile_one, *args)
                )
                self.compiler.link = link_compiled
                super().build_extensions()

    extensions = mypycify(
        ["--config-file", "mypy.ini", *modules],
        opt_level="2",
        debug_level="0",
        multi_file=True,
        group_name=f"{PACKAGE}.native",
    )
    whole = next((options for options in _WHOLE_PROGRAM if _takes(options)), [])
    inside = [*_INSIDE, *whole]
    for extension in extensions:
        extension.sources = _in_units(extension.sources)
        if os.name == "posix":
            extension.extra_compile_args = [*extension.extra_compile_args, *inside]
            extension.extra_link_args = [*extension.extra_link_args, *whole]
        extension.include_dirs.append(f"build/{PACKAGE}")  # headers of a group with a dotted name
    setup(
        name=PACKAGE,
        packages=[],
        ext_modules=extensions,
        cmdclass={"build_ext": BuildOnAllCores},
        script_args=["--quiet", "build_ext", "--build-lib", "built"],
    )


if __name__ == "__main__":
    compile_modules(sys.argv[1:])
