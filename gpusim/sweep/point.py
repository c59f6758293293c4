"""One run that a sweep asks for: its place among all combinations, and the workload it means."""

from __future__ import annotations

from functools import lru_cache

from attrs import frozen

from gpusim.config.layers import parse_scalar
from gpusim.programs.workload import Workload, load_workload

BASELINE = "baseline"
"""How tables name a model without variants."""

SHARED, ALONE = "run", "alone"
"""Roles of runs: as the workload says, or one of its applications without the others."""

WORKLOAD = "workload."
"""In front of a key that is one of the workload."""


@frozen
class Point:
    """A combination, as the rows of a sweep's table name it.

    Attributes:
        model, workload, scale, seed: as in the sweep.
        variant: several are joined with ``+``; `BASELINE` for none.
        settings: keys and values, as ``--set`` takes them.
        role: `SHARED` or `ALONE`.
        application: of an `ALONE` run: its name.
        sms: of each application, where the sweep says so.
    """

    model: str
    variant: str
    workload: str
    scale: str
    seed: int
    settings: tuple[tuple[str, str], ...] = ()
    role: str = SHARED
    application: str = ""
    sms: tuple[int, ...] = ()

    @property
    def variants(self) -> tuple[str, ...]:
        """To be applied in order."""
        return () if self.variant == BASELINE else tuple(self.variant.split("+"))

    @property
    def model_settings(self) -> dict[str, str]:
        """Keys of the model."""
        return {key: value for key, value in self.settings if not key.startswith(WORKLOAD)}

    @property
    def workload_settings(self) -> tuple[tuple[str, str], ...]:
        """Keys of the workload, without their prefix."""
        return tuple(
            (key.removeprefix(WORKLOAD), value)
            for key, value in self.settings
            if key.startswith(WORKLOAD)
        )

    @property
    def values(self) -> dict[str, object]:
        """Everything that tells this point from others, by the columns of a sweep's table."""
        return {
            "model": self.model,
            "variant": self.variant,
            "workload": self.workload,
            "scale": self.scale,
            "seed": self.seed,
            **{key: parse_scalar(value) for key, value in self.settings},
            "role": self.role,
            "application": self.application,
            "sms": "+".join(map(str, self.sms)),
        }

    @property
    def label(self) -> str:
        """For people."""
        what = f"{self.application} of {self.workload}" if self.application else self.workload
        sms = [f"SMs {'+'.join(map(str, self.sms))}"] if self.sms else []
        settings = [f"{key}={value}" for key, value in self.settings]
        seed = [f"seed {self.seed}"] if self.seed else []
        return " · ".join((what, self.model, self.variant, *settings, *sms, *seed))


@frozen
class WorkloadChoice:
    """Which workload a run executes.

    Attributes:
        name, scale, seed, settings: as for `gpusim.load_workload`.
        shares: of the SMs, replacing those of the workload's file.
        application: only this one is run.
    """

    name: str
    scale: str
    seed: int
    settings: tuple[tuple[str, str], ...] = ()
    shares: tuple[float, ...] = ()
    application: str = ""

    def load(self) -> Workload:
        """The workload.

        Raises:
            UserError: it, its scale, a setting or its input is wrong.
        """
        workload = _load(self.name, self.scale, self.seed, self.settings)
        if self.shares:
            workload = workload.split(self.shares)
        return workload.alone(self.application) if self.application else workload


@lru_cache(maxsize=4)
def _load(name: str, scale: str, seed: int, settings: tuple[tuple[str, str], ...]) -> Workload:
    """A few are kept: runs with one workload follow each other, and its input may be large."""
    return load_workload(name, scale, seed, dict(settings))
