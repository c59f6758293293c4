"""Files that a sweep names: models, recipes, workloads, traces, graphs, checkpoints, by paths."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gpusim.config.recipe import is_path, is_recipe
from gpusim.config.stack import split_stack
from gpusim.core.untrusted import is_file
from gpusim.studies.sweep.point import WORKLOAD


def place(axis: str, value: Any, folder: Path) -> Any:
    """A value of an axis; if it is a path from `folder`, that path from the current folder."""
    if not isinstance(value, str):
        return value
    if axis == "variant":
        parts = split_stack(value, lambda name: is_path(name) and is_recipe(name, folder))
        return "+".join(str(folder / one) if is_path(one) else one for one in parts)
    is_file = (
        (axis == "model" and _is_model_file(value))
        or (axis == "workload" and _is_workload_file(value, folder))
        or (axis.startswith(WORKLOAD) and axis.endswith((".graph", ".timed.start")))
    )
    return str(folder / value) if is_file else value


def _is_model_file(name: str) -> bool:
    return name.endswith(".toml") or len(Path(name).parts) > 1


def _is_workload_file(name: str, folder: Path) -> bool:
    """Whether a text is a path, as `gpusim.load_workload` decides: ``mask/HISTO`` is a name."""
    from gpusim.traces.open_trace import LISTS

    path = folder / name
    is_trace = is_file(path) or any(is_file(path / one) for one in LISTS)
    return name.endswith(".toml") or is_trace
