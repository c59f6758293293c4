"""`docs/characterize.md` tells the truth: its tables are the schema, its example runs."""

import re

from gpusim.files.columns import Column
from gpusim.studies.characterize import intensity, locality, run
from gpusim.studies.characterize.datasets import FORMAT, SCHEMA_VERSION, TABLES
from tests import ROOT

PAGE = (ROOT / "docs" / "characterize.md").read_text()


def test_the_schema_is_on_the_page():
    rows = re.findall(r"^\|`(\w+)`\|(.+)\|(.+)\|$", PAGE, re.MULTILINE)
    expected = []
    for name, table in TABLES.items():
        if name.startswith("distributions/"):
            unit = next(column.unit for column in table.columns if column.name == "value")
            expected.append((name.partition("/")[2], unit, table.description))
        elif name != "provenance":
            expected += [column_row(column) for column in table.columns]
            assert f"### `/{name}`\n\n{table.description}\n" in PAGE
    assert rows == expected
    assert f"format `{FORMAT}`, schema {SCHEMA_VERSION}" in PAGE.replace("\n", " ")


def column_row(column: Column) -> tuple[str, str, str]:
    unit = f", {column.unit}" if column.unit not in ("", "1") else ""
    return column.name, f"{column.type}{unit}", column.description


def test_the_limits_are_on_the_page():
    assert f"up to {intensity.MAX_BLOCKS} blocks" in PAGE
    assert run.MAX_ACCESSES == 2**25
    assert "More than 2^25 accesses" in PAGE
    assert f"of {locality.WINDOW} consecutive accesses" in PAGE


def test_the_example_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    for example in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(example, "characterize.md", "exec"), names)
        if "again" in names:
            assert names["again"].to_json() == names["found"].to_json()
            del names["again"]
    assert names["found"]["star"].walks > 0
    assert "257" in capsys.readouterr().out
