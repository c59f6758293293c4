"""One case: a design, run, looked at and run again in one other way."""

from __future__ import annotations

import re
import time
import tomllib
import traceback
from functools import lru_cache
from pathlib import Path
from random import Random

from attrs import evolve, frozen

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
from experiments.fuzz.machines.agreement import run
from experiments.fuzz.machines.designs import (
    ALWAYS,
    Design,
    make_design,
    read_design,
    write_design,
)
from experiments.fuzz.machines.invariants import violations
from experiments.fuzz.machines.models import MadeModel, make_model
from experiments.fuzz.machines.relations import (
    Relation,
    broken,
    choose,
    named,
    relation_called,
)
from experiments.fuzz.machines.smaller import smaller
from gpusim.core.errors import StarvedError, UserError
from gpusim.core.user_code import Imports, importing

CASE_SECONDS = 20.0
"""Processor time that a case may take, with all its runs."""

CASES_OF_A_MACHINE = 16
"""Cases, one after the other, whose machine is the same: to make one takes as long as a run."""


@lru_cache(maxsize=2)
def _machine(seed: int, number: int) -> MadeModel:
    return make_model(Random(f"{seed}/model/{number}"), seed + number)


def run_case(seed: int, number: int, folder: Path, *, in_process: bool = False) -> Outcome:
    """Make a design, run it, and check it; a failure leaves the files of a smaller one in a folder.

    Args:
        seed: of all cases.
        number: of this one; the same seed and number make the same design.
        folder: for the files of a failure.
        in_process: nothing is run in another process.
    """
    random = Random(f"{seed}/machine/{number}")
    tags: tuple[str, ...] = ()
    case = None
    began = time.process_time()
    try:
        with importing(Imports.NOTHING), limited(CASE_SECONDS):
            design = make_design(random, _machine(seed, number // CASES_OF_A_MACHINE))
            relation = choose(random, in_process=in_process)
            tags = (*dict.fromkeys(design.tags()), f"relation {named(relation)}")
            case = Case(design, relation, f"{seed}/relation/{number}")
    except UserError as error:
        what, detail = REFUSED, str(error)
    except BaseException:  # noqa: BLE001  (that is what is looked for)
        what, detail = TRACEBACK, traceback.format_exc()
    if case is not None:
        what, detail = judged(case)
    seconds = time.process_time() - began
    if case is not None and what in (HANG, TRACEBACK, WRONG):
        detail += _kept(case, (what, detail), folder)
    kind = tags[0].removeprefix("model ") if tags else "not made"
    return Outcome(number, kind, "", what, seconds, detail, tags)


@frozen
class Case:
    """A design, and what its run is compared with.

    Attributes:
        design, relation: what is run, and how it is run again.
        draw: seed of what is random in the relation.
    """

    design: Design
    relation: Relation
    draw: str

    def text(self) -> str:
        """It as a file."""
        head = f'relation = "{named(self.relation)}"\ndraw = "{self.draw}"\n'
        return head + self.design.text()


def read_case(path: Path) -> Case:
    """The case that a failure left in a file."""
    found = tomllib.loads(path.read_text(encoding="utf-8"))
    return Case(read_design(path), relation_called(found["relation"]), found["draw"])


def judged(case: Case) -> tuple[str, str]:
    """What comes of a case."""
    design = case.design
    try:
        with (
            importing(Imports.NOTHING),
            limited(CASE_SECONDS),
            run(design, record=(*ALWAYS, *design.records)) as result,
        ):
            random = Random(case.draw)
            wrong = [
                *violations(design, result),
                *broken(random, case.relation, design, result),
            ]
    except (UserError, StarvedError) as error:
        return REFUSED, str(error)
    except HangError:
        return HANG, traceback.format_exc()
    except BaseException:  # noqa: BLE001  (that is what is looked for)
        return TRACEBACK, traceback.format_exc()
    return (WRONG, "\n".join(wrong)) if wrong else (READ, "")


def _kept(case: Case, outcome: tuple[str, str], folder: Path) -> str:
    """Write the files of a failure, made smaller; what they are and how they are run."""
    if outcome[0] != HANG:  # each try would take a minute
        wanted = _symptom(*outcome)
        small = smaller(
            case.design, lambda one: _symptom(*judged(evolve(case, design=one))) == wanted
        )
        case = evolve(case, design=small)
    command = write_design(case.design, folder)
    (folder / "case.toml").write_text(case.text(), encoding="utf-8")
    return f"\n{case.text()}\ngpusim study fuzz machines --case {folder}/case.toml\n{command}\n"


def _symptom(what: str, detail: str) -> tuple[str, str]:
    """What a failure has in common with the same one of a smaller design."""
    lines = detail.strip().splitlines() or [""]
    line = lines[-1] if what == TRACEBACK else lines[0]
    return what, re.sub(r"[0-9]+", "#", line.partition(":")[0])
