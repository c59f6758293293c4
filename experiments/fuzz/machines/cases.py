"""One case: a design, run, looked at and run again in one other way."""

from __future__ import annotations

import time
import traceback
from pathlib import Path
from random import Random

from experiments.fuzz.cases import (
    HANG,
    READ,
    REFUSED,
    TRACEBACK,
    WRONG,
    HangError,
    Outcome,
    limited,
)
from experiments.fuzz.machines.designs import Design, make_design, write_design
from experiments.fuzz.machines.invariants import RECORDS, violations
from experiments.fuzz.machines.relations import IN_PROCESS, RELATIONS, Relation, broken, run
from gpusim.core.errors import UserError
from gpusim.core.user_code import Imports, importing

CASE_SECONDS = 120.0
"""Processor time that a case may take, with all its runs."""


def run_case(seed: int, number: int, folder: Path, models: tuple[str, ...] = ()) -> Outcome:
    """Make a design, run it, and check it; a failure leaves its files in a folder.

    Args:
        seed: of all cases.
        number: of this one; the same seed and number make the same design.
        folder: for the files of a failure.
        models: to choose from, and no other process then; empty: all.
    """
    random = Random(f"{seed}/machine/{number}")
    what, detail, began = READ, "", time.process_time()
    tags: tuple[str, ...] = ("not made",)
    design = None
    try:
        with importing(Imports.NOTHING), limited(CASE_SECONDS):
            design = make_design(random, models)
            relation = _relation(random, IN_PROCESS if models else tuple(RELATIONS))
            tags = (*design.tags, f"relation {relation.__name__.replace('_', ' ')}")
            what, detail = _judged(random, design, relation)
    except UserError as error:
        what, detail = REFUSED, str(error)
    except HangError:
        what, detail = HANG, traceback.format_exc()
    except BaseException:  # noqa: BLE001  (that is what is looked for)
        what, detail = TRACEBACK, traceback.format_exc()
    if design is not None and what in (HANG, TRACEBACK, WRONG):
        detail += _kept(design, folder)
    kind = tags[0].removeprefix("model ")
    return Outcome(number, kind, "", what, time.process_time() - began, detail, tags)


def _relation(random: Random, among: tuple[Relation, ...]) -> Relation:
    (chosen,) = random.choices(among, [RELATIONS[one] for one in among])
    return chosen


def _judged(random: Random, design: Design, relation: Relation) -> tuple[str, str]:
    with run(design, record=RECORDS) as result:
        wrong = [*violations(design, result), *broken(random, relation, design, result)]
    return (WRONG, "\n".join(wrong)) if wrong else (READ, "")


def _kept(design: Design, folder: Path) -> str:
    """Write the files of a failure; where they are, and what they are of."""
    command = write_design(design, folder)
    return f"\n{design}\ncd {folder} && {command}\n"
