"""Modules that are known by where they lie: what is in a folder is imported.

Only this module and `gpusim.core.user_code` import by names that are made at run time; everywhere
else, imports are statements, which the contracts on imports see.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from functools import cache
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType


def import_all(package: str) -> list[ModuleType]:
    """All modules in a package's folder, which register what they hold, or are looked through."""
    return [importlib.import_module(found.name) for found in _modules_in(package)]


def import_packages_in(package: str) -> None:
    """All modules of the packages in a package's folder."""
    for found in _modules_in(package):
        if found.ispkg:
            import_all(found.name)


def import_named(package: str, name: str) -> bool:
    """Import the modules of a name in the packages of a package's folder: whether there is any."""
    found = [
        module.name
        for part in _modules_in(package)
        if part.ispkg
        for module in _modules_in(part.name)
        if module.name == f"{part.name}.{name}"
    ]
    for module_name in found:
        importlib.import_module(module_name)
    return bool(found)


def import_from_folder(folder: Path, package: str, name: str) -> ModuleType:
    """A module, or package, that lies in a folder anywhere.

    Args:
        folder: where it lies.
        package: what the folder is called in its name; one that is imported already stays.
        name: with dots below the folder.
    """
    if package not in sys.modules:
        spec = ModuleSpec(package, None, is_package=True)
        spec.submodule_search_locations = [str(folder)]
        sys.modules[package] = module_from_spec(spec)
    return importlib.import_module(f"{package}.{name}")


def _modules_in(package: str) -> tuple[pkgutil.ModuleInfo, ...]:
    folders = tuple(importlib.import_module(package).__path__)
    shipped = package.partition(".")[0] == "gpusim"
    return _listed_once(package, folders) if shipped else _listed(package, folders)


def _listed(package: str, folders: tuple[str, ...]) -> tuple[pkgutil.ModuleInfo, ...]:
    """The modules in the folders of a package."""
    return tuple(pkgutil.iter_modules(folders, f"{package}."))


_listed_once = cache(_listed)
"""Of gpusim's own packages: their folders do not change while a process runs."""
