"""The sampling plan of launches that are alike: a few of each kind are timed, no other executed.

Launches are strata by their kind and that of the launch before them, which leaves caches to them.
From each stratum as many are chosen at random, one from each of equal parts of it.  The choices
of all strata take the same random numbers: in a program of equal layers they are whole layers.

Each of the parts is timed on a machine of its own, which begins cold: none hangs on those before,
whether they run one after the other or side by side.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import frozen

from gpusim.core.errors import UserError, nearest
from gpusim.runs.amounts import LaunchSample
from gpusim.runs.run_length import MOST
from gpusim.runs.windows.launch_kinds import Kind
from gpusim.runs.windows.plan import split_plan
from gpusim.runs.windows.words import LEAST_WAVES, LEAST_WINDOWS, MOST_WINDOWS

_LEAST = {"launches": LEAST_WINDOWS, "waves": LEAST_WAVES, "warm": 0, "seed": 0}
"""What a plan may say, and the least number that it may say."""


@frozen
class Chosen:
    """A launch that is measured.

    Attributes:
        launch: its number in the program.
        stands_for: launches of its stratum, of which as many as `LaunchPlan.launches` are measured;
            1: it stands for itself.
        part: of the equal parts of its stratum; -1: it stands for itself.
    """

    launch: int
    stands_for: int
    part: int

    @property
    def machine(self) -> int:
        """Number of the machine that times it."""
        return max(self.part, 0)


@frozen
class LaunchPlan(LaunchSample):
    """How launches are sampled."""

    def choose(self, kinds: Sequence[Kind]) -> list[Chosen]:
        """What is measured of launches of these kinds, in the order of the program.

        A launch may be chosen for two parts of its stratum.
        """
        strata: dict[tuple[Kind, Kind], list[int]] = {}
        for launch, kind in enumerate(kinds):
            before = kinds[launch - 1] if launch else None
            strata.setdefault((before, kind), []).append(launch)
        places = np.random.default_rng(self.seed).random(self.launches)
        found = []
        for alike in strata.values():
            count = len(alike)
            if count <= self.launches:
                found += [Chosen(launch, 1, -1) for launch in alike]
                continue
            for part, place in enumerate(places.tolist()):
                at = min(int((part + place) * count / self.launches), count - 1)
                found.append(Chosen(alike[at], count, part))
        return sorted(found, key=lambda one: (one.launch, one.part))

    def first_block(self, launch: int, blocks: int) -> int:
        """Where the thread blocks begin that are timed of a launch."""
        return int(np.random.default_rng([self.seed, launch]).integers(blocks))


def parse_launch_plan(text: str) -> LaunchPlan | None:
    """``"launches=3,waves=4,warm=4,seed=0"``, of which all but the first may lack.

    None: it does not say ``launches``, and is a plan of windows.

    Raises:
        UserError: something is unknown, or no number in its bounds.
    """
    given = split_plan(text)
    if "launches" not in given:
        return None
    found = {}
    for key, value in given.items():
        if key not in _LEAST:
            raise UserError(
                f"--sample {text}: there is no {key!r}{nearest(key, _LEAST)} beside launches; "
                f"allowed: {', '.join(_LEAST)}"
            )
        most = MOST if key == "seed" else MOST_WINDOWS
        if not (value.isascii() and value.isdecimal() and len(value) <= 18) or not (
            _LEAST[key] <= int(value) <= most
        ):
            raise UserError(
                f"--sample {text}: {key}={value[:20]}: must be a whole number from {_LEAST[key]} "
                f"to {most:,}"
            )
        found[key] = int(value)
    return LaunchPlan(**found)
