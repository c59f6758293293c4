"""What lies under, over and in the place of the designs of a figure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from attrs import evolve, field, frozen

from gpusim.studies.characterize import depends_on
from gpusim.studies.reproduce.figure import Survey
from gpusim.studies.sweep.point import BASELINE, as_text
from gpusim.studies.sweep.spec import SAME, Sweep


@frozen(kw_only=True)
class Laid:
    """Changes the runs of a figure; its designs keep their names.

    Attributes:
        machine: a variant of the model that lies under all designs.
        settings: keys and values that lie over all designs which do not state them.
        variants: designs, and what is run in their place.
        workloads: those of a sweep alone, if it has any of them; none: all.
    """

    machine: str = BASELINE
    settings: Mapping[str, object] = field(factory=dict)
    variants: Mapping[str, str] = field(factory=dict)
    workloads: Collection[str] = ()

    def over(self, sweep: Sweep) -> Sweep:
        """The sweep that is run in the place of one."""
        stated = sweep.axes
        more = {key: [value] for key, value in self.settings.items() if key not in stated}
        return evolve(
            sweep, workloads=self._some(sweep), set={**sweep.set, **more},
            variants=[self._run_as(design) for design in sweep.variants],
            alone=[one if one == SAME else self._run_as(one) for one in sweep.alone],
        )  # fmt: skip

    def leaves_out(self, sweep: Sweep) -> bool:
        """Whether some of its workloads are not run."""
        return len(self._some(sweep)) < len(sweep.workloads)

    def over_survey(self, survey: Survey) -> Survey:
        """Likewise of programs without a machine, which have no designs."""
        of_model = {key: as_text(value) for key, value in self.settings.items() if depends_on(key)}
        variants = survey.variants if self.machine == BASELINE else (self.machine,)
        return evolve(survey, variants=variants, settings={**of_model, **survey.settings})

    def design(self, variant: str) -> str:
        """The design in whose place a variant was run."""
        own = BASELINE if variant == self.machine else variant.removeprefix(f"{self.machine}+")
        instead = {run: design for design, run in self.variants.items()}
        return instead.get(own, own)

    def _some(self, sweep: Sweep) -> Sequence[str]:
        return [name for name in sweep.workloads if name in self.workloads] or sweep.workloads

    def _run_as(self, design: str) -> str:
        names = (self.machine, self.variants.get(design, design))
        return "+".join(name for name in names if name != BASELINE) or BASELINE
