"""The schemas for editors accept what the readers accept, and refuse what is no key or unit."""

from __future__ import annotations

import json
import tomllib
from copy import deepcopy
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from typer.testing import CliRunner

from gpusim.cli.main import app
from gpusim.files.shipped import data_folder
from gpusim.studies.schemas import KINDS, schema_of

FILES = {
    "model": sorted(data_folder("models").glob("*.toml")),
    "recipe": sorted(data_folder("models").glob("recipes/*.toml")),
    "workload": sorted(data_folder("workloads").rglob("*.toml")),
    "sweep": sorted(data_folder("experiments").glob("*.toml")),
}


def read(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text())


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_all_shipped_files_are_valid(kind: str) -> None:
    schema = schema_of(kind)
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    assert FILES[kind]
    wrong = [
        f"{path.name}: {error.json_path}: {error.message[:200]}"
        for path in FILES[kind]
        for error in validator.iter_errors(read(path))
    ]
    assert not wrong, "\n".join(wrong[:10])


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("l1.wayss", 4, "wayss"),
        ("l1.size", "48", "does not match"),
        ("l1.ways", "four", "is not of type 'integer'"),
        ("tlb.L1.replacement", "lruu", "is not valid under any"),
        (
            "tlb.L1.misses",
            "hit",
            "'hit' is not one of ['mshr', 'hit-under-miss', 'hits-pass', 'lsu-blocking']",
        ),
        ("l2.hash", "ipol", "is not valid under any"),
        ("sm.warp_size", 48, "48 is not one of [32, 64]"),
        ("sm.scheduler", {"policy": "gto", "option": [1]}, "is not valid under any"),
    ],
)
def test_mistakes_are_seen(key: str, value: object, told: str) -> None:
    model = deepcopy(read(data_folder("models") / "tiny.toml"))
    table = model
    *parents, name = key.split(".")
    for parent in parents:
        table = table[parent]
    table[name] = value
    errors = list(jsonschema.Draft7Validator(schema_of("model")).iter_errors(model))
    assert any(told in error.message for error in errors), [one.message[:100] for one in errors]


def test_what_must_be_there() -> None:
    model = read(data_folder("models") / "tiny.toml")
    del model["l2"]
    (error,) = jsonschema.Draft7Validator(schema_of("model")).iter_errors(model)
    assert error.message == "'l2' is a required property"


def test_meanings_are_told() -> None:
    tlb = schema_of("model")["definitions"]["TlbConfig"]["properties"]
    assert tlb["ways"]["description"] == "its shape (ways = entries: fully associative)."
    assert tlb["mshrs"]["description"] == "pages that may be outstanding."


def test_the_command(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["schema", "sweep", "-o", str(tmp_path / "sweep.json")])
    assert done.exit_code == 0
    assert json.loads((tmp_path / "sweep.json").read_text()) == schema_of("sweep")
    assert CliRunner().invoke(app, ["schema", "modle"]).exit_code == 2
