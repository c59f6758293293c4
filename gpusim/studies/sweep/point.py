"""One run that a sweep asks for: its place among all combinations, and the workload it means."""

from __future__ import annotations

from attrs import frozen

from gpusim.config.layers import parse_scalar
from gpusim.core.errors import UserError
from gpusim.studies.sweep.key import workload_digest
from gpusim.workloads.workload import Workload, load_workload

BASELINE = "baseline"
"""How tables name a model without variants."""

SHARED, ALONE = "run", "alone"
"""Roles of runs: as the workload says, or one of its applications without the others."""

COORDINATES = ("model", "variant", "workload", "seed")
"""Coordinates of a combination, beside its settings."""

WORKLOAD = "workload."
"""In front of a key that is one of the workload."""


def split_keys(joined: str) -> list[str]:
    """Keys that change together: ``"tlb.L1.entries, tlb.L1.ways"``."""
    return [key.strip() for key in joined.split(",")]


def as_text(value: object) -> str:
    """A value as ``--set`` would be given it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


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
        shift: a key of the model and its value in this run, if runs are shifted with their seeds;
            no column, as the seed tells it.
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
    shift: tuple[tuple[str, str], ...] = ()

    @property
    def variants(self) -> tuple[str, ...]:
        """The variant as the variants that `gpusim.load_model` takes: one, or none."""
        return () if self.variant == BASELINE else (self.variant,)

    @property
    def model_settings(self) -> tuple[tuple[str, str], ...]:
        """Settings of the model, with the shifted key if there is one."""
        of_model = tuple(pair for pair in self.settings if not pair[0].startswith(WORKLOAD))
        return (*of_model, *self.shift)

    @property
    def workload_settings(self) -> tuple[tuple[str, str], ...]:
        """Settings of the workload."""
        return tuple(pair for pair in self.settings if pair[0].startswith(WORKLOAD))

    @property
    def values(self) -> dict[str, object]:
        """The coordinates that identify this point, by the columns of a sweep's table."""
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
        shift = [f"{key}={value}" for key, value in self.shift]
        return " · ".join((what, self.model, self.variant, *settings, *sms, *seed, *shift))


@frozen
class WorkloadChoice:
    """Which workload a run executes.

    Attributes:
        name, scale, seed, settings: as for `gpusim.load_workload`.
        shares: of the SMs, replacing those of the workload's file.
        application: only this one is run.
        digest: of the workload that was planned, by `workload_digest`.
    """

    name: str
    scale: str
    seed: int
    settings: tuple[tuple[str, str], ...]
    shares: tuple[float, ...]
    application: str
    digest: str

    def load(self) -> Workload:
        """The workload, perhaps on another machine, perhaps hours after it was planned.

        Raises:
            UserError: its files are not there, or have changed since.
        """
        workload = load_workload(self.name, self.scale, self.seed, dict(self.settings))
        if workload_digest(workload) != self.digest:
            raise UserError(
                f"workload {self.name!r}: its files are not those that the sweep began with; "
                "run the sweep again, and leave them alone"
            )
        return self.part_of(workload)

    def part_of(self, workload: Workload) -> Workload:
        """The workload with these shares, or the application of it."""
        if self.shares:
            workload = workload.split(self.shares)
        return workload.alone(self.application) if self.application else workload
