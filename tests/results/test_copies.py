"""Results are copied and pickled: as bytes from memory, as a path from a file."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

import gpusim
from gpusim.core.errors import UserError
from gpusim.results import Result, RunData
from gpusim.runs.writer import ResultWriter


def write(run: RunData, path: Path | None) -> Result:
    with ResultWriter(path) as writer:
        walks = writer.event_table("walks")
        for row in range(3):
            walks.append(0, 7 + row, 0, 0, 1, 2, 3, 4)
        return writer.finish(run)


def twin_of(result: Result) -> Result:
    twin = pickle.loads(pickle.dumps(result))
    assert isinstance(twin, Result)
    return twin


@pytest.mark.parametrize("twin", [twin_of, copy.deepcopy])
@pytest.mark.parametrize("name", ["run.h5", None])
def test_a_copy_has_all_of_it(
    run: RunData, tmp_path: Path, name: str | None, twin: Callable[[Result], Result]
) -> None:
    result = write(run, tmp_path / name if name else None)
    expected = result.to_json()
    again = twin(twin(result))
    result.close()
    assert again.to_json() == expected
    assert again.table("walks").vpn.tolist() == [7, 8, 9]
    assert again.launches.kernel.tolist() == ["atax_kernel1", "atax_kernel2"]
    again.close()


def test_a_path_is_found_from_another_folder(
    run: RunData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(run, Path("run.h5")).close()
    with gpusim.open_result("run.h5") as result:
        twin = twin_of(result)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert twin.summary["cycles"] == 1000


def test_a_file_that_is_gone_is_named(run: RunData, tmp_path: Path) -> None:
    with write(run, tmp_path / "run.h5") as result:
        twin = twin_of(result)
    (tmp_path / "run.h5").unlink()
    assert twin.digest == result.digest
    with pytest.raises(UserError, match=r"run\.h5 is gone: .* as its path"):
        twin.summary  # noqa: B018


def test_a_file_that_is_another_result_is_refused(
    run: RunData, make: Callable[..., RunData], tmp_path: Path
) -> None:
    with write(run, tmp_path / "run.h5") as result:
        twin = twin_of(result)
    write(make(config_toml="[sm]\ncount = 3\n"), tmp_path / "run.h5").close()
    with pytest.raises(UserError, match="is another result than when this one was copied"):
        twin.summary  # noqa: B018


@pytest.mark.parametrize("twin", [twin_of, copy.deepcopy])
def test_a_closed_result_refuses(run: RunData, twin: Callable[[Result], Result]) -> None:
    result = write(run, None)
    unread = twin(result)
    for one in (result, unread):
        one.close()
        one.close()
        with pytest.raises(ValueError, match="is closed"):
            twin(one)


def cycles_with(entries: int) -> Result:
    model = gpusim.load_model("tiny", overrides={"tlb.L1.entries": str(entries)})
    return gpusim.simulate(model, gpusim.load_workload("atax", "smoke", overrides={"n": "32"}))


@pytest.mark.long
def test_a_pool_returns_results() -> None:
    """A worker process of its own: what is not pickled never comes back."""
    own = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=own) as pool:
        (result,) = pool.map(cycles_with, [8])
    here = cycles_with(8)
    assert result.digest == here.digest
    assert result.summary == here.summary
