"""Changes to the designs of a figure: layers below, above or in place of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from attrs import evolve, field, frozen

from gpusim.machine.load import load_model
from gpusim.studies.characterize import depends_on
from gpusim.studies.reproduce.figure import Survey
from gpusim.studies.sweep.point import BASELINE, WORKLOAD, as_text
from gpusim.studies.sweep.spec import SAME, Sweep


@frozen(kw_only=True)
class Overlay:
    """Changes the runs of a figure; its designs keep their names.

    Attributes:
        machine: a variant of the model that lies under all designs.
        settings: keys and values that lie over all designs which have their parts, where the sweep
            does not state them.
        variants: designs, and what is run in their place.
        workloads: those of a sweep alone, if it has any of them; none: all.
    """

    machine: str = BASELINE
    settings: Mapping[str, object] = field(factory=dict)
    variants: Mapping[str, str] = field(factory=dict)
    workloads: Collection[str] = ()
    _parts: dict[tuple[tuple[str, ...], str], frozenset[str]] = field(
        factory=dict, init=False, eq=False, repr=False
    )

    def over(self, sweep: Sweep) -> tuple[Sweep, ...]:
        """What is run in the place of a sweep.

        A design that has not got the part of a setting, such as a TLB, is run without it: more
        than one sweep.

        Raises:
            UserError: a model or design is wrong.
        """
        more = {key: [value] for key, value in self.settings.items() if key not in sweep.axes}
        groups: dict[tuple[str, ...], list[str]] = {}
        for design in map(self._run_as, sweep.variants):
            parts = self._parts_of(sweep.models, design) if more else frozenset()
            there = tuple(key for key in more if _part(key) in {WORKLOAD, *parts})
            groups.setdefault(there, []).append(design)
        return tuple(
            evolve(
                sweep,
                workloads=self._some(sweep),
                variants=designs,
                set={**sweep.set, **{key: more[key] for key in there}},
                alone=[one if one == SAME else self._run_as(one) for one in sweep.alone],
            )
            for there, designs in groups.items()
        )

    def leaves_out(self, sweep: Sweep) -> bool:
        """Whether some of its workloads are not run."""
        return len(self._some(sweep)) < len(sweep.workloads)

    def over_survey(self, survey: Survey) -> Survey:
        """What is characterized in the place of a survey, which has no designs."""
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

    def _parts_of(self, models: tuple[str, ...], design: str) -> frozenset[str]:
        """The tables that a design has on all of the models; figures ask for the same ones."""
        if (models, design) not in self._parts:
            names = [one for one in design.split("+") if one != BASELINE]
            self._parts[models, design] = frozenset.intersection(
                *(frozenset(_part(one.key) for one in load_model(m, names).values) for m in models)
            )
        return self._parts[models, design]

    def _run_as(self, design: str) -> str:
        names = (self.machine, self.variants.get(design, design))
        return "+".join(name for name in names if name != BASELINE) or BASELINE


def _part(key: str) -> str:
    """The table of a model, or of a workload, that a key is in."""
    return WORKLOAD if key.startswith(WORKLOAD) else key.rpartition(".")[0]
