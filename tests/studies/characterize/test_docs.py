"""`docs/characterize.md` tells the truth: its tables are the schema, its example runs."""

import re

from gpusim.studies.characterize import intensity, locality, run
from gpusim.studies.characterize.datasets import FORMAT, SCHEMA_VERSION, TABLES
from tests import ROOT

PAGE = (ROOT / "docs" / "characterize.md").read_text()


def test_the_schema_is_on_the_page():
    rows = re.findall(r"^\| `(\w+)` \| (.+) \| (.*) \| (.+) \|$", PAGE, re.MULTILINE)
    tables = [table for name, table in TABLES.items() if name != "provenance"]
    assert rows == [(c.name, c.type, c.unit, c.description) for t in tables for c in t.columns]
    for name, table in TABLES.items():
        assert name == "provenance" or f"### `/{name}`\n\n{table.description}\n" in PAGE
    assert f"format `{FORMAT}`, schema {SCHEMA_VERSION}" in PAGE.replace("\n", " ")


def test_the_limits_are_on_the_page():
    assert f"up to {intensity.MAX_BLOCKS} blocks" in PAGE
    assert run.MAX_ACCESSES == 2**25
    assert "More than 2^25 accesses" in PAGE
    assert f"of {locality.WINDOW} consecutive accesses" in PAGE


def test_the_example_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names = {}
    exec(compile(example, "characterize.md", "exec"), names)
    assert names["again"].to_json() == names["found"].to_json()
    assert "257" in capsys.readouterr().out
