"""What cases can draw: what of it never ran is a hole."""

from __future__ import annotations

from collections.abc import Iterable

from experiments.fuzz.machines.designs import KINDS, OTHERS
from experiments.fuzz.machines.made_up import MIXES
from experiments.fuzz.machines.models import PARTS
from experiments.fuzz.machines.programs import MADE_UP, SMALL
from experiments.fuzz.machines.relations import RELATIONS, named
from gpusim.config.recipe import recipe_names
from gpusim.core.registry import Slot, policy_names
from gpusim.files.shipped import data_names


def all_tags() -> set[str]:
    """Every tag that a case may have, but for numbers of things."""
    found = {
        "model": data_names("models"),
        "recipe": recipe_names(),
        "part": PARTS,
        "mix": MIXES,
        "event": KINDS[True],
        "record": OTHERS,
        "program": [*SMALL, MADE_UP],
        "relation": [named(one) for one, weight in RELATIONS.items() if weight],
        **{str(slot): policy_names(slot) for slot in Slot},
    }
    return {f"{what} {name}" for what, names in found.items() for name in names}


def holes(ran: Iterable[str]) -> list[str]:
    """What none of the tags of cases that ran has."""
    return sorted(all_tags() - set(ran))
