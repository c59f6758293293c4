"""docs/traces.md tells every column, and its example runs."""

import re
from pathlib import Path

import pytest

import gpusim
from gpusim.traces.table_columns import (
    DISPATCH,
    PAGES,
    SCALAR_ACCESSES,
    SCALARS,
    TRANSACTIONS,
    WAVEFRONTS,
)
from tests import ROOT

PAGE = (ROOT / "docs" / "traces.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "column", [*TRANSACTIONS, *SCALARS, *SCALAR_ACCESSES, *WAVEFRONTS, *DISPATCH, *PAGES]
)
def test_every_column_is_told(column) -> None:
    required = " (required)" if column.required else ""
    assert f"- `{column.name}`{required}: {column.meaning}\n" in PAGE


def test_the_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    section = PAGE[PAGE.index("## Columnar tables") :]
    (example,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)[:1]
    exec(example, {})
    workload = gpusim.load_workload("mine.npz")
    with gpusim.simulate(gpusim.load_model("r9-nano"), workload) as result:
        assert result.summary["transactions"] == 8
        assert result.summary["walks"] == 1
