"""A folder of experiments with one small paper."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gpusim.studies.reproduce import Survey, catalog, claims
from gpusim.studies.reproduce.surveys import run_survey
from gpusim.studies.sweep.run import run_sweep
from gpusim.studies.sweep.spec import Sweep
from tests.forked_pool import fork_workers

CLAIMS = """
paper = "mine"
title = "Mine"
model = "tiny"
programs = "orchestrated"
intro = "Small."

[study]
workloads = ["nw"]
values = ["12 cycles"]

[[choice]]
name = "misses"
about = "misses of an SM under way at once"
[[choice.reading]]
name = "any"
set = {"tlb.L1.misses" = "mshr"}
source = "gem5-gpu"
grade = "A"
taken = true
[[choice.reading]]
name = "one instruction's"
set = {"tlb.L1.misses" = "hit-under-miss"}
source = "Pichai"
grade = "D"

[[claim]]
id = "mine.fig1.faster"
role = "outcome"
where = "Fig. 1"
statement = "More entries make it faster"
headline = true
direction = "higher"
values = [1.0]
unit = "%"
tolerance = 1000.0
measured = "mean"
cause = "Because."

[[claim]]
id = "mine.fig2.reuse"
role = "calibration"
where = "Fig. 2"
statement = "Pages are reused"
direction = "higher"
measured = "whether"

[[claim]]
id = "mine.sec1.area"
role = "outcome"
where = "§1"
statement = "It is small"
scope = "hardware"
direction = "equal"
values = [1.0]
reason = "needs a chip"
"""

FIGURES = """
import pandas as pd

from gpusim.studies.reproduce import Bars, Survey, figure, gain, number, numbers, one
from gpusim.studies.sweep.spec import Sweep

from .common import PROGRAMS

DESIGNS = {"few": {"tlb.L1.entries": 2}, "many": {"tlb.L1.entries": 64, "tlb.L1.ways": 4}}


def shares(found):
    (apps,) = found.surveys
    shares = [apps[name].intra_shares[4] for name in PROGRAMS.values()]
    return pd.DataFrame({"b5": shares}, pd.Index(list(PROGRAMS), name="program"))


@figure(
    id="mine.fig2", title="Fig. 2", about="About it.",
    surveys=(Survey(model="tiny", workloads=tuple(PROGRAMS.values())),),
    table=shares, draw=Bars("share"),
)
def reuse(table):
    return {"mine.fig2.reuse": one(table["b5"].mean(), table["b5"].mean() > 0)}


@figure(
    id="mine.fig1", title="Fig. 1", about="About it.",
    sweeps=(Sweep(models="tiny", workloads=tuple(PROGRAMS.values()),
                  set={"tlb.L1.entries, tlb.L1.ways": [[2, 2], [64, 4]]}),),
    table=numbers("cycles", PROGRAMS, DESIGNS), draw=Bars("cycles"), cell="{:.0f}",
)
def faster(table):
    return {"mine.fig1.faster": number(gain(table, "many", "few").mean())}
"""


PROGRAMS = ("nw", "gemm")


@pytest.fixture(scope="session")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all that the figures of the paper ask for, at smoke scale."""
    folder = tmp_path_factory.mktemp("ran") / "runs"
    sets: dict[str, list[object]] = {"tlb.L1.entries, tlb.L1.ways": [[2, 2], [64, 4]]}
    sweep = Sweep(models="tiny", workloads=PROGRAMS, scale="smoke", set=sets, name="mine")
    with pytest.MonkeyPatch.context() as patch:
        fork_workers(patch)
        run_sweep(sweep, folder, jobs=1)
        run_survey(Survey(model="tiny", workloads=PROGRAMS), "smoke", folder, jobs=1)
    return folder


@pytest.fixture
def done(ran: Path, tmp_path: Path) -> None:
    """Nothing is left to run: what is simulated is not the subject."""
    shutil.copytree(ran, tmp_path / "gpusim-runs")


def forget() -> None:
    """What was loaded of a folder of experiments."""
    for name in [name for name in sys.modules if name.partition(".")[0] == catalog.PACKAGE]:
        del sys.modules[name]


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str], None]]:
    """Makes this paper the only one; call it to replace a text in its claims."""
    folder = tmp_path / "shipped"
    (folder / "claims").mkdir(parents=True)
    (folder / "mine").mkdir()
    (folder / "claims" / "mine.toml").write_text(CLAIMS)
    (folder / "mine" / "__init__.py").touch()
    (folder / "mine" / "common.py").write_text('PROGRAMS = {"the nw": "nw", "gemm": "gemm"}\n')
    (folder / "mine" / "figures.py").write_text(FIGURES)
    monkeypatch.setattr(claims, "data_folder", lambda _: folder)
    monkeypatch.setattr(catalog, "data_folder", lambda _: folder)
    monkeypatch.chdir(tmp_path)
    forget()

    def replace(old: str, new: str) -> None:
        assert old in CLAIMS
        (folder / "claims" / "mine.toml").write_text(CLAIMS.replace(old, new))
        forget()

    yield replace
    forget()
