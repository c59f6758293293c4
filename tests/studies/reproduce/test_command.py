"""`gpusim reproduce`, end to end at smoke scale: runs, tables, pages, pictures, exit codes."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from attrs import evolve
from typer.testing import CliRunner

import gpusim
from gpusim.cli.main import app
from gpusim.core.errors import UserError
from gpusim.studies.reproduce import catalog, run, surveys
from gpusim.studies.reproduce.claims import papers
from gpusim.studies.reproduce.overlay import Overlay
from gpusim.studies.reproduce.verdict import Verdict
from gpusim.studies.sweep.folder import FailedRun
from gpusim.studies.sweep.worker import Failure
from tests import ROOT


def reproduce(*arguments):
    return CliRunner().invoke(app, ["reproduce", *arguments, "--scale", "smoke", "-j", "1"])


@pytest.mark.long
def test_all_of_a_paper(mine, tmp_path):
    told = reproduce("-o", "runs", "--docs", "pages")
    assert told.exit_code == 0, told.output
    assert "mine.fig1.faster" in told.output
    assert "the nw" in told.output
    assert "needs a chip" in told.output
    page = (tmp_path / "pages" / "mine.md").read_text()
    assert "Of 1 calibration claims: 1 *agrees*." in page
    assert "Of 2 outcome claims: 1 *agrees*, 1 *not measured*." in page
    scores = [line.replace("│", "").split() for line in told.output.splitlines()[-3:-1]]
    assert scores == [["calibration", "1", "1"], ["outcome", "2", "1", "1"]]
    assert re.search(r"\| More entries make it faster \| .+ \| agrees \|", page)
    assert "*mine.fig1.faster*: Because." in page
    assert page.index("## Fig. 1") < page.index("## Fig. 2") < page.index("## Not measured")
    assert (tmp_path / "pages" / "pictures" / "mine.fig2.png").stat().st_size > 1000
    assert "(tables/mine.fig1.csv)" in page
    numbers = pd.read_csv(tmp_path / "pages" / "tables" / "mine.fig1.csv", index_col=0)
    assert set(numbers.index) == {"the nw", "gemm"}

    pictures = {path: path.read_bytes() for path in (tmp_path / "pages").rglob("*.png")}
    results = {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").rglob("*.h5")}
    assert len(results) == 4 + 2
    again = reproduce("-o", "runs", "--docs", "pages")
    assert again.exit_code == 0
    assert (tmp_path / "pages" / "mine.md").read_text() == page
    assert all(path.read_bytes() == picture for path, picture in pictures.items())
    assert all(path.stat().st_mtime_ns == when for path, when in results.items())


@pytest.mark.long
@pytest.mark.usefixtures("mine")
def test_other_readings(tmp_path):
    told = reproduce("mine.fig1", "--choices", "--docs", "pages")
    assert told.exit_code == 0, told.output
    page = (tmp_path / "pages" / "mine.md").read_text()
    assert (
        "| misses | misses of an SM under way at once | any (A) | one instruction's (D) |" in page
    )
    number = r"-?[\d.]+"
    row = (
        rf"\| mine.fig1.faster \| 1 \| {number} \| {number} \({number} to {number}\) \| .+ to .+ \|"
    )
    assert re.search(row, page)
    tables = tmp_path / "pages" / "tables"
    assert (tables / "mine.choices.csv").read_text().startswith("claim,taken,misses: one instruc")
    readings = pd.read_csv(tables / "mine.readings.csv", keep_default_na=False)
    assert list(readings.reading) == ["any", "one instruction's"]
    assert list(readings.taken) == ["yes", ""]
    assert (tmp_path / "pages" / "pictures" / "mine.choices.png").stat().st_size > 1000
    assert len(list((tmp_path / "gpusim-runs").rglob("*.h5"))) == 2 * (1 + 1 + 1)


@pytest.mark.usefixtures("done")
def test_one_claim_as_json(mine, tmp_path):
    told = reproduce("mine.fig1.faster", "--json", "--format", "svg")
    assert told.exit_code == 0, told.output
    figure, rest = json.loads(told.stdout)
    assert figure["figure"] == "mine.fig1"
    assert set(figure["table"]) == {"the nw", "gemm"}
    (claim,) = figure["claims"]
    assert (claim["verdict"], claim["paper"]) == ("agrees", [1.0])
    assert claim["here"][0] > 0
    assert rest == {"paper": "mine", "claims": []}
    assert (tmp_path / "gpusim-runs" / "gpusim-runs.json").exists()
    page = (tmp_path / "gpusim-pages" / "mine.md").read_text()
    (link,) = re.findall(r"!\[mine\.fig1\]\((.*)\)", page)
    picture = tmp_path / "gpusim-pages" / link
    assert picture == tmp_path / figure["picture"]
    assert picture.read_bytes().startswith(b"<?xml")


@pytest.mark.long
@pytest.mark.usefixtures("done")
def test_a_part_of_a_page_is_replaced(mine, tmp_path):
    page = tmp_path / "gpusim-pages" / "mine.md"
    reproduce("mine.fig2")
    assert "## Fig. 1" not in page.read_text()
    reproduce("mine.fig1")
    whole = page.read_text()
    assert whole.index("## Fig. 1") < whole.index("## Fig. 2")
    page.write_text(whole.replace("About it.", "About it, once."))
    reproduce("mine.fig1")
    assert page.read_text().count("About it, once.") == 1  # that of Fig. 2
    mine("Because.", "So it is.")
    reproduce("mine.fig2")
    assert page.read_text() == whole.replace("Because.", "So it is.")


@pytest.mark.long
@pytest.mark.usefixtures("done")
def test_check_looks_at_the_direction_of_main_results(mine):
    assert reproduce("mine.fig1", "--check").exit_code == 0
    mine("tolerance = 1000.0", "tolerance = 0.0")
    told = reproduce("mine.fig1", "--check")
    assert (told.exit_code, "same direction" in told.output) == (0, True)
    mine("values = [1.0]\nunit", "values = [-1.0]\nunit")
    assert reproduce("mine.fig1", "--check").exit_code == 1
    assert reproduce("mine.fig1.faster", "--check").exit_code == 1
    assert reproduce("mine.fig1").exit_code == 0
    assert reproduce("mine.fig2", "--check").exit_code == 0
    mine(
        'headline = true\ndirection = "higher"\nvalues = [1.0]',
        'direction = "higher"\nvalues = [-1.0]',
    )
    assert reproduce("mine.fig1", "--check").exit_code == 0


@pytest.mark.usefixtures("done")
def test_failed_runs_measure_nothing(mine, tmp_path, monkeypatch):
    assert reproduce("mine.fig1").exit_code == 0
    page = (tmp_path / "gpusim-pages" / "mine.md").read_text()

    class Failing:
        failures = (FailedRun("k", "nw · tiny", Failure("ValueError", "it broke"), 1),)

        def __init__(self, results):
            self.table = results.table

    whole = run.run_sweep
    monkeypatch.setattr(run, "run_sweep", lambda *a, **k: Failing(whole(*a, **k)))
    told = reproduce("mine.fig1")
    assert told.exit_code == 1
    assert "it broke" in told.output
    assert "not measured" in told.output
    assert (tmp_path / "gpusim-pages" / "mine.md").read_text() == page


def test_users_mistakes(mine, tmp_path):
    told = reproduce("mine.fig3")
    assert (told.exit_code, "did you mean 'mine.fig" in told.output) == (2, True)
    told = CliRunner().invoke(app, ["reproduce", "mine.fig1", "--scale", "small"])
    assert (told.exit_code, "there is no scale 'small'" in told.output) == (2, True)
    (tmp_path / "file").touch()
    told = reproduce("mine.fig2", "--docs", "file")
    assert (told.exit_code, "cannot write file" in told.output) == (2, True)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thing").touch()
    told = reproduce("mine.fig2", "-o", "full")
    assert (told.exit_code, "is no folder of runs" in told.output) == (2, True)


@pytest.mark.usefixtures("done")
def test_a_damaged_characterization_is_made_again(mine, tmp_path):
    path = next((tmp_path / "gpusim-runs" / surveys.FOLDER).glob("*.h5"))
    whole = path.stat().st_size
    path.write_bytes(b"no file")
    assert reproduce("mine.fig2").exit_code == 0
    assert path.stat().st_size == whole


@pytest.mark.usefixtures("forked_workers")
def test_progress_of_characterizations(mine, tmp_path):
    (paper,) = papers()
    _, figure = catalog.figures_of(paper)
    seen = []
    (tmp_path / "runs").mkdir()
    found = surveys.run_survey(
        figure.surveys[0], "smoke", tmp_path / "runs", jobs=1, progress=seen.append
    )
    assert set(found) == {"nw", "gemm"}
    assert (seen[-1].total, seen[-1].done, seen[-1].left) == (2, 2, 0)


@pytest.mark.usefixtures("done")
def test_a_program_of_surveys_is_built_once_for_all_changes(mine, tmp_path, monkeypatch):
    (paper,) = papers()
    _, figure = catalog.figures_of(paper)
    built = []
    load = surveys.load_workload
    monkeypatch.setattr(surveys, "load_workload", lambda *a: built.append(a[0]) or load(*a))
    smoke = run.Execution(folder=tmp_path / "gpusim-runs", scale="smoke", jobs=1)
    for latency in ("8 cycles", "9 cycles"):
        overlay = Overlay(settings={"l2.latency": latency})
        list(run.reproduce(paper, [figure], smoke, overlay))
    assert sorted(built) == ["gemm", "nw"]


@pytest.mark.usefixtures("done")
def test_from_python(mine, tmp_path):
    (paper,) = papers()
    figures = catalog.figures_of(paper)
    smoke = run.Execution(folder=tmp_path / "gpusim-runs", scale="smoke", jobs=1)
    found = list(run.reproduce(paper, figures, smoke))
    assert [one.figure.id for one in found] == ["mine.fig1", "mine.fig2"]
    assert [one.verdict for one in found[0].claims] == [Verdict.AGREES]
    with pytest.raises(UserError, match="no scale 'huge'"):
        next(run.reproduce(paper, figures, evolve(smoke, scale="huge")))


@pytest.mark.long
def test_an_installed_gpusim_finds_its_figures(tmp_path):
    """As in a wheel; a package of the user's that has the same name does not come between."""
    package = tmp_path / "site" / "gpusim"
    unwanted = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(gpusim.__file__).parent, package, ignore=unwanted)
    shutil.rmtree(package / "data", ignore_errors=True)  # what a wheel has there
    for kind in ("models", "workloads", "experiments"):
        shutil.copytree(ROOT / kind, package / "data" / kind, ignore=unwanted)
    empty = tmp_path / "empty"
    (empty / "experiments").mkdir(parents=True)
    (empty / "experiments" / "__init__.py").write_text("raise RuntimeError('not me')\n")
    code = "from gpusim.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, "reproduce", "orch.table2", "--scale", "smoke"],
        cwd=empty,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(tmp_path / "site"), "PATH": "", "HOME": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    assert (empty / "gpusim-pages" / "orchestrated.md").exists()
