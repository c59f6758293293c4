"""The result of `characterize_tlbs`: what the TLBs of each design were asked for, and missed."""

from __future__ import annotations

from attrs import frozen

from gpusim.results.run_data import Provenance
from gpusim.studies.characterize.tlb_levels import LevelCounts


@frozen
class LevelResult:
    """The TLBs of one level of a design.

    Attributes:
        name: of the level.
        scope: how many share one (``tlb.NAME.scope``).
        tlbs: how many there are.
        entries, ways: of each.
        counts: by application.
    """

    name: str
    scope: str
    tlbs: int
    entries: int
    ways: int
    counts: tuple[LevelCounts, ...]

    @property
    def shape(self) -> tuple[str, str, int, int]:
        """Name, scope, entries and ways."""
        return self.name, self.scope, self.entries, self.ways

    @property
    def total(self) -> LevelCounts:
        """All applications together."""
        return LevelCounts(
            sum(one.lookups for one in self.counts),
            sum(one.misses for one in self.counts),
            sum(one.compulsory for one in self.counts),
        )


@frozen
class DesignCounts:
    """One design.

    Attributes:
        name: of it.
        page_bytes: of the smallest pages.
        levels: from the SM outward; misses of the last one are walks.
    """

    name: str
    page_bytes: int
    levels: tuple[LevelResult, ...]

    @property
    def walks(self) -> int:
        """Misses of the last level."""
        return self.levels[-1].total.misses


@frozen
class TlbResult:
    """What the TLBs of all designs did for a workload, without a clock.

    Attributes:
        provenance: the model of the first design, and the workload.
        applications: names.
        designs: in the order in which they were given.
    """

    provenance: Provenance
    applications: tuple[str, ...]
    designs: tuple[DesignCounts, ...]

    def __getitem__(self, name: str) -> DesignCounts:
        """A design by name; `KeyError`: there is none."""
        for one in self.designs:
            if one.name == name:
                return one
        raise KeyError(name)

    def to_json(self) -> dict[str, object]:
        """All numbers."""
        run = self.provenance
        return {
            "model": run.model,
            "workload": run.workload,
            "scale": run.scale,
            "seed": run.seed,
            "designs": [
                {
                    "name": design.name,
                    "page_bytes": design.page_bytes,
                    "walks": design.walks,
                    "levels": [
                        {
                            "name": level.name,
                            "scope": level.scope,
                            "tlbs": level.tlbs,
                            "entries": level.entries,
                            "ways": level.ways,
                            "applications": {
                                name: {
                                    "lookups": one.lookups,
                                    "hits": one.hits,
                                    "misses": one.misses,
                                    "compulsory": one.compulsory,
                                }
                                for name, one in zip(self.applications, level.counts, strict=True)
                            },
                        }
                        for level in design.levels
                    ],
                }
                for design in self.designs
            ],
        }
