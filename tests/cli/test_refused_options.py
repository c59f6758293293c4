"""Options that would say nothing beside others are refused, not ignored."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpusim
from tests.whole.running import command


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("result") / "run.h5"
    workload = gpusim.load_workload("launches", "smoke")
    gpusim.simulate("tiny", workload, output=path).close()
    return path


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("show RUN --toml", "--toml: RUN is a result, which is shown as it is"),
        ("show RUN -v star", "--variant: RUN is a result"),
        ("show RUN --set tlb.L1.ways=1", "--set: RUN is a result"),
        ("show RUN tlb", "'tlb': RUN is a result"),
        ("show tiny --all", "--all: is of results, and tiny is none"),
        ("show tiny tlb --json", "'tlb': words choose lines of the table: without --toml and"),
        ("show star tlb", "'tlb': star is a recipe, which is shown whole"),
        ("sweep --status . --jobs 3", "--jobs: --status only shows how far sweeps are"),
        ("sweep --status . --retry-failed", "--retry-failed: --status only shows"),
        ("sweep l1-tlb-reach -o runs --dry-run --time-limit 3", "--time-limit: --dry-run runs"),
        ("blame RUN --rows 3 --json", "--rows: is of the table: without -o and --json"),
        ("timeline RUN --perfetto x.pftrace --bin 9", "--bin: --perfetto writes events as they"),
        ("trust --remove", "--remove: which folder? gpusim trust FOLDER --remove"),
    ],
)
def test_an_option_that_would_say_nothing_is_refused(
    words: str, message: str, result: Path
) -> None:
    done = command(*(str(result) if word == "RUN" else word for word in words.split()), code=2)
    assert message.replace("RUN", str(result)) in done.stderr


def test_only_a_marked_folder_is_trusted_no_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    command("trust", str(tmp_path))
    command("trust", str(tmp_path), "--remove")
    done = command("trust", str(tmp_path), "--remove", code=2)
    assert f"{tmp_path} is not marked: gpusim trust lists the folders that are" in done.stderr
