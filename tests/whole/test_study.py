"""Studies that come along are commands, also where there is no checkout."""

from __future__ import annotations

import ast
import importlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gpusim.cli.main import app
from gpusim.core.errors import UserError
from gpusim.files.shipped import data_folder
from gpusim.studies.scripts import FOLDER, find_study, run_study, studies
from tests import ROOT
from tests.quick import quick
from tests.whole.running import command

_NAMED = re.compile(r"\bgpusim\s+study ([a-z][a-z-]*(?:\.[a-z-]+)?)")


def test_all_are_listed_with_what_they_are() -> None:
    listed = command("list", "studies").stdout
    assert "storms" in listed
    assert "mask.story" in listed
    assert "Storms of shootdowns and of synonyms" in " ".join(listed.split())
    assert "speed-case" not in listed  # a part of another


@pytest.mark.parametrize("name", quick([one.name for one in studies()], "storms", "growth"))
def test_a_study_has_a_title_and_a_parser(name: str) -> None:
    assert find_study(name).title.endswith(".")
    with pytest.raises(SystemExit, match=r"^2$"):  # before anything is run
        run_study(find_study(name), ["--no-such-option"])


def test_documentation_names_studies_that_there_are() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    texts = {page: page.read_text(encoding="utf-8") for page in pages}
    named = {name for text in texts.values() for name in _NAMED.findall(text)}
    assert named <= {study.name for study in studies()}
    assert len(named) > 15
    assert not [page for page, text in texts.items() if "python -m experiments" in text]


@pytest.mark.parametrize("name", ["storm", "mask.stori", "validate_drams"])
def test_a_wrong_name_is_told_the_nearest(name: str) -> None:
    told = CliRunner().invoke(app, ["study", name])
    assert told.exit_code == 2
    assert "; did you mean '" in told.stderr


def test_underscores_are_dashes() -> None:
    assert find_study("validate_dram") == find_study("validate-dram")


def test_help_behind_the_name_is_of_the_study() -> None:
    told = command("study", "storms", "--help").stdout
    assert told.startswith("usage: gpusim study storms ")
    assert str(FOLDER / "storms") in "".join(told.split())
    assert "gpusim list studies" in command("study", "--help").stdout


def test_the_exit_status_is_that_of_the_study(tmp_path: Path) -> None:
    told = CliRunner().invoke(app, ["study", "validate-dram", "--reference", str(tmp_path)])
    assert told.exit_code == 2
    assert "reference.json" in told.stderr


def test_nothing_of_a_study_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    before = list(sys.argv), list(sys.path)
    with pytest.raises(SystemExit):
        run_study(find_study("growth"), ["--no-such-option"])
    assert (sys.argv, sys.path) == before


def test_default_folders_are_named_in_help_and_all_in_one_place() -> None:
    """A study that writes a folder of its own choice names it, and it is `gpusim-studies/NAME`."""
    for study in studies():
        path = ROOT / "experiments" / f"{study.module.replace('.', '/')}.py"
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(call, ast.Call) or "add_argument" not in ast.unparse(call.func):
                continue
            given = {word.arg: ast.unparse(word.value) for word in call.keywords}
            default = given.get("default", "None")
            if given.get("type") == "Path" and default not in {"None", "COUNTS"}:
                allowed = {f"FOLDER / '{study.name}'", "Path('gpusim-runs')"}  # or where sweeps are
                assert default in allowed, study.name
                assert "%(default)s" in given["help"], study.name


@pytest.mark.long
def test_a_study_runs_where_there_is_no_checkout(tmp_path: Path) -> None:
    """As from a wheel: the package with its data in it, and an empty folder."""
    package = tmp_path / "site" / "gpusim"
    shutil.copytree(Path(importlib.import_module("gpusim").__file__ or "").parent, package)
    for kind in ("models", "workloads", "experiments"):
        shutil.copytree(data_folder(kind), package / "data" / kind, dirs_exist_ok=True)
    (tmp_path / "empty").mkdir()
    done = subprocess.run(
        [sys.executable, "-P", "-m", "gpusim", "study", "storms", "--program", "fir"],
        cwd=tmp_path / "empty",
        env={"PYTHONPATH": str(tmp_path / "site"), "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "vc-opt-remapping" in done.stdout
    written = {path.name for path in (tmp_path / "empty" / FOLDER / "storms").iterdir()}
    assert "shootdowns.jsonl" in written
    assert [path.name for path in (tmp_path / "empty").iterdir()] == [FOLDER.name]


def test_a_user_is_told_of_a_broken_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpusim.files.shipped._PACKAGE", Path("/nowhere"))
    with pytest.raises(UserError, match="own experiments are missing"):
        find_study("storms")
