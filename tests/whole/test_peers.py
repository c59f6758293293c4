"""Timing beside another program: which numbers are compared, and what is refused."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from experiments.peers import Case, Cases, Compared, Cost, compared, read_cases
from gpusim.core.errors import UserError
from gpusim.studies.scripts import find_study, run_study


def test_factors_with_and_without_the_start() -> None:
    cases = Cases(cases={"a": Case(ours="x", theirs="y", transactions=1_000_000)})
    least = {"a": {"ours": Cost(2.0, 10), "theirs": Cost(9.0, 20)}}
    assert [*compared(cases, least)] == [
        Compared("a", Cost(2.0, 10), Cost(9.0, 20), 4.5, None, 2.0)
    ]
    with_start = Cases(cases=cases.cases, start=Case(ours="x", theirs="y"))
    least[""] = {"ours": Cost(1.0, 5), "theirs": Cost(1.0, 5)}
    assert [one.net_factor for one in compared(with_start, least)] == [8.0]


def test_the_least_of_several_runs_counts() -> None:
    assert Cost(3.0, 20).or_less(Cost(2.0, 30)) == Cost(2.0, 20)


def test_commands_run_in_the_folder_of_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "here").touch()
    burn = f"{sys.executable} -c 'open(\"here\"); sum(range(10**7))'"
    rest = f"{sys.executable} -c pass"
    path = tmp_path / "cases.toml"
    path.write_text(f"[cases.sum]\nours = '''{rest}'''\ntheirs = '''{burn}'''\n")
    run_study(find_study("peers"), [str(path), "--repeat", "1", "--json"])
    lines = capsys.readouterr().out
    (row,) = json.loads(lines[lines.index("[\n") :])
    assert row["theirs"]["seconds"] > row["ours"]["seconds"] > 0
    assert row["factor"] == pytest.approx(row["theirs"]["seconds"] / row["ours"]["seconds"])
    assert row["ours"]["megabytes"] > 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[start]\nours = 'a'\ntheirs = 'b'\n", "cases"),
        ("[cases]\n", r"must have a table \[cases.NAME\]"),
        ("[cases.a]\nours = 'a'\n", "cases.a.theirs"),
        (
            "[cases.a]\nours = 'a'\ntheirs = 'b'\ntransactions = -5\n",
            "cases.a.transactions = -5: must be 0 or more",
        ),
        ("[cases.a]\nours = 'a'\nthiers = 'b'\n", "did you mean 'theirs'"),
    ],
)
def test_what_is_no_list_of_cases(text: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "cases.toml"
    path.write_text(text)
    with pytest.raises(UserError, match=told):
        read_cases(path)


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("no-such-program x", "no-such-program x: No such file or directory"),
        ("", "'' is no command line"),
        ("true 'x", "is no command line: No closing quotation"),
        (f"{sys.executable} -c 'raise SystemExit(\"too bad\")'", "ended with 1: too bad"),
    ],
)
def test_a_command_that_fails(command: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "cases.toml"
    path.write_text(f"[cases.a]\nours = '''{command}'''\ntheirs = 'true'\n")
    with pytest.raises(UserError, match=told):
        run_study(find_study("peers"), [str(path), "--repeat", "1"])


def test_a_command_that_takes_no_time() -> None:
    cases = Cases(cases={"a": Case(ours="x", theirs="y")})
    with pytest.raises(UserError, match="a: a command takes no processor time"):
        list(compared(cases, {"a": {"ours": Cost(0.0, 10), "theirs": Cost(9.0, 20)}}))


@pytest.mark.parametrize("words", [["peers", "x.toml", "--repeat"], ["workload-table", "-j"]])
def test_studies_take_counts_from_one_on(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    name, *options = words
    with pytest.raises(SystemExit):
        run_study(find_study(name), [*options, "0"])
    assert "0: must be 1 or more" in capsys.readouterr().err
