"""How the runs of a sweep are made: where, by how many processes, and when one is given up."""

from __future__ import annotations

from attrs import Attribute, field, frozen

from gpusim.core.errors import UserError
from gpusim.studies.sweep.pause import Brake
from gpusim.studies.sweep.progress import Report
from gpusim.studies.sweep.worker import Limits


def _at_least_one(_options: object, attribute: Attribute[int | None], value: int | None) -> None:
    if value is not None and value < 1:
        raise UserError(f"{value} {attribute.name}: must be 1 or more")


@frozen(kw_only=True)
class SweepOptions:
    """How the runs of a sweep are made; no digest depends on it.

    Attributes:
        jobs: processes of this machine; None: one a core.
        dask: address of a Dask scheduler whose workers are to run it instead.
        retry_failed: run what has failed before once more.
        limits: when to give a run up.
        progress: called a few times a second.
        brake: with which another thread may hold back the runs that have not begun.

    Raises:
        UserError: less than one process.
    """

    jobs: int | None = field(default=None, validator=_at_least_one)
    dask: str | None = None
    retry_failed: bool = False
    limits: Limits = field(factory=Limits)
    progress: Report | None = None
    brake: Brake = field(factory=Brake)
