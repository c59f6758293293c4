"""Numbers of the applications that share a GPU, each by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Protocol, TypeVar

from gpusim.studies.sweep.point import ALONE, SHARED
from gpusim.workloads.builder import application_builder
from gpusim.workloads.library import find_workload
from gpusim.workloads.tables import SCALES

if TYPE_CHECKING:
    import pandas as pd

    from gpusim.results.result import Result
    from gpusim.studies.reproduce.tables import Design, Material

T = TypeVar("T")
Value_co = TypeVar("Value_co", covariant=True)


class Reading(Protocol[Value_co]):
    """Something of an application in a run."""

    def __call__(self, result: Result, app: str) -> Value_co:
        """Read it."""


Mixes = Mapping[str, str]
"""Names of mixes, and their workloads."""


@cache  # there is a row for each design that a workload runs on
def applications(workload: str) -> tuple[str, ...]:
    """Names of the applications of a workload."""
    entry = find_workload(workload)
    count = len(entry.table.applications)
    return tuple(application_builder(entry, index, SCALES[0]).name for index in range(count))


def rows(mixes: Mixes) -> dict[str, tuple[str, str]]:
    """``MIX.APP`` for each application of some mixes, and these two."""
    return {f"{mix}.{app}": (mix, app) for mix in mixes for app in applications(mixes[mix])}


def together(variants: Mapping[str, str]) -> dict[str, Design]:
    """Designs as `Material.numbers` takes them, of the runs that are shared."""
    return {name: {"variant": variant, "role": SHARED} for name, variant in variants.items()}


def of_applications(
    material: Material, number: str, mixes: Mixes, designs: Mapping[str, Design]
) -> pd.DataFrame:
    """A headline number of each application while it shares the GPU: a row ``MIX.APP``."""
    return _by_application(
        mixes, lambda app, own: material.numbers(f"{app}/{number}", own, designs)
    )


def of_applications_alone(
    material: Material, number: str, mixes: Mixes, designs: Mapping[str, Design]
) -> pd.DataFrame:
    """Numbers of each application alone, on as many SMs, or on an instance of the same size."""

    def of_one(app: str, own: Mixes) -> pd.DataFrame:
        return material.numbers(
            number, own, {name: alone(app, design) for name, design in designs.items()}
        )

    return _by_application(mixes, of_one)


def read_applications(
    material: Material,
    reading: Reading[T],
    mixes: Mixes,
    design_of: Callable[[str], Design],
) -> dict[str, T]:
    """Something of the runs themselves, of each application: by ``MIX.APP``.

    Args:
        material: whose runs they are.
        reading: of a run, and of an application in it.
        mixes: names, and their workloads.
        design_of: what tells the runs of an application from others.
    """
    found: dict[str, T] = {}
    for row, (mix, app) in rows(mixes).items():
        found |= material.read(partial(reading, app=app), {row: mixes[mix]}, design_of(app))
    return found


def alone(app: str, design: Design) -> Design:
    """What tells the runs of an application alone from others."""
    return {**design, "role": ALONE, "application": app}


def _by_application(mixes: Mixes, numbers: Callable[[str, Mixes], pd.DataFrame]) -> pd.DataFrame:
    """Numbers of applications, each given the mixes that it is in, in the order of the mixes."""
    import pandas as pd

    found = rows(mixes)
    parts = [
        numbers(name, {row: mixes[mix] for row, (mix, app) in found.items() if app == name})
        for name in _once(app for _, app in found.values())
    ]
    return pd.concat(parts).loc[list(found)]


def _once(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
