import json

import pytest
from typer.testing import CliRunner

from gpusim.cli.main import app
from gpusim.cli.standard_streams import open_standard_streams
from gpusim.core.version import __version__, form
from gpusim.files.shipped import data_names
from gpusim.machine.load import load_model

MODELS = data_names("models")


def gpusim(*arguments, code=0):
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == code, result.output
    return result


def test_version():
    assert gpusim("--version").stdout == f"gpusim {__version__} ({form()})\n"


def test_without_a_command_it_explains_itself():
    assert "show" in gpusim(code=2).output


def test_list_models():
    table = gpusim("list", "models").stdout
    rows = json.loads(gpusim("list", "models", "--json").stdout)
    assert [row["name"] for row in rows] == sorted(MODELS)
    assert {"kepler-uvm", "tiny", "h100"} <= set(MODELS)
    assert rows[MODELS.index("kepler-uvm")]["variants"].startswith("l1-tlb-256, ")
    assert all(row["name"] in table and row["description"] for row in rows)


def test_list_recipes():
    rows = {row["name"]: row for row in json.loads(gpusim("list", "recipes", "--json").stdout)}
    assert rows["star"]["changes"] == "tlb.shared.array = star"
    assert rows["half-sub-double-set"]["changes"].startswith("tlb.shared.entries = × 2, ")
    assert rows["mask"]["based on"] == "mask-tlb, mask-cache, mask-dram"
    assert rows["mask"]["requires"].startswith('walk.cost = "memory" (walks that read')
    assert all(row["description"] and row["source"] for row in rows.values())
    assert "ideal-crossbar" in gpusim("list", "recipes").stdout


def test_show_a_recipe():
    shown = json.loads(gpusim("show", "mask-dram-quick", "--json").stdout)
    assert shown["recipe"] == "mask-dram-quick"
    assert shown["requires"] == ["dram.ideal = false (an ideal one has no queues)"]
    epochs = [one for one in shown["values"] if one["key"] == "dram.scheduler.epoch"]
    assert [one["origin"] for one in epochs] == ["recipe mask-dram", "recipe mask-dram-quick"]
    text = gpusim("show", "mask-dram-quick").stdout
    assert "requires dram.ideal = false" in text
    assert "recipe golden-silver-normal" in text


def test_list_policies():
    rows = json.loads(gpusim("list", "policies", "--json").stdout)
    names = {(row["slot"], row["name"]) for row in rows}
    assert {("TLB array", "sub-entry"), ("DRAM queue", "fcfs"), ("warp scheduler", "gto")} <= names
    assert "fr-fcfs" in gpusim("list", "policies").stdout


def test_list_records():
    rows = json.loads(gpusim("list", "records", "--json").stdout)
    assert {"intervals", "walks", "dram"} <= {row["name"] for row in rows}
    assert all(row["description"] for row in rows)


def test_list_workloads():
    rows = json.loads(gpusim("list", "workloads", "--json").stdout)
    assert {"atax", "bicg", "mvt", "bfs", "pagerank"} <= {row["name"] for row in rows}


def test_list_sweeps():
    rows = {row["name"]: row for row in json.loads(gpusim("list", "sweeps", "--json").stdout)}
    assert set(rows) == {
        "compositions",
        "embedding-reach",
        "expert-gather",
        "kv-cache-pages",
        "l1-tlb-reach",
        "node-compositions",
    }
    assert rows["l1-tlb-reach"]["axes"] == "5 × workload, 4 × tlb.L1.entries, 2 × memory.page"
    assert "l1-tlb-reach" in gpusim("list", "sweeps").stdout


def test_list_figures():
    rows = {row["name"]: row for row in json.loads(gpusim("list", "figures", "--json").stdout)}
    assert "orch.fig11.full" in rows["orch.fig11"]["claims"]
    assert "comp.cost" in rows


def test_what_can_be_listed_is_told():
    error = gpusim("list", code=2).stderr
    assert "say what to list, such as gpusim list models: models, recipes, " in error


def test_listing_what_there_is_not():
    error = gpusim("list", "model", code=2).stderr
    assert "did you mean 'models'" in error
    assert "policies" in error


def test_show_tells_value_origin_and_source():
    text = gpusim("show", "kepler-uvm", "-v", "l1-tlb-256", "--set", "l2.ways=16").stdout
    lines = {line.split("│")[1].strip(): line for line in text.splitlines() if "│" in line}
    assert "[tlb.L1]" in lines
    assert "kepler-uvm + l1-tlb-256" in text
    cells = [
        [cell.strip() for cell in line.split("│")[1:-1]]
        for line in text.splitlines()
        if "│" in line
    ]
    assert ["entries", "256", "variant l1-tlb-256", "ORCH Fig. 2"] in cells
    assert ["entries", "512", "models/kepler-uvm.toml", "ORCH Table III"] in cells
    assert ["ways", "16", "--set", "your own --set"] in cells
    assert ["size", "1536KiB", "models/kepler-uvm.toml", "ORCH Table III"] in cells


def test_show_as_toml_loads_back(tmp_path):
    path = tmp_path / "shown.toml"
    arguments = ["-v", "pwcache", "-v", "ideal-dram", "--set", "sm.count=4"]
    path.write_text(gpusim("show", "maxwell-mask", *arguments, "--toml").stdout, "utf-8")
    expected = load_model("maxwell-mask", ["pwcache", "ideal-dram"], {"sm.count": "4"})
    assert load_model(str(path)).config == expected.config


def test_show_as_json():
    shown = json.loads(gpusim("show", "tiny", "--json").stdout)
    assert shown["model"] == "tiny"
    assert shown["values"]["l1.size"]["value"] == "4KiB"
    assert shown["values"]["l1.size"]["origin"] == "models/tiny.toml"
    assert shown["values"]["l1.size"]["source"].startswith("our choice")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["tinny"], "did you mean 'tiny'"),
        (["nowhere.toml"], "no model file 'nowhere.toml'"),
        (["tiny", "-v", "ideal-tbl"], "no variant 'ideal-tbl'; did you mean 'ideal-tlb'"),
        (["star", "-v", "mask"], "gpusim show MODEL --variant star"),
        (["tiny", "--set", "l1.sise=4KiB"], "did you mean 'size'"),
        (["tiny", "--set", "l1.size"], "--set tlb.L2.entries=1024"),
        (["tiny", "--set", "=3"], "--set tlb.L2.entries=1024"),
        (["tiny", "--json", "--toml"], "choose one"),
    ],
)
def test_mistakes_are_one_message_and_exit_code_2(arguments, words):
    result = gpusim("show", *arguments, code=2)
    assert words in result.stderr
    assert result.stderr.startswith("gpusim: ")
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


@pytest.mark.parametrize(
    "what",
    ["models", "recipes", "workloads", "policies", "records", "sweeps", "figures", "studies"],
)
def test_lists_break_no_word_on_an_ordinary_terminal(what, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    rows = json.loads(gpusim("list", what, "--json").stdout)
    text = gpusim("list", what).stdout
    assert max(map(len, text.splitlines())) <= 80
    words = set(text.replace("│", " ").split())
    for row in rows:
        assert row["name"] in words
        assert {*row["description"].split()} <= words


def test_a_width_of_no_columns_is_none(monkeypatch):
    monkeypatch.setenv("COLUMNS", "0")
    open_standard_streams()
    assert "a100-mig" in gpusim("list", "models").stdout


def test_lists_and_models_are_filtered_by_words(monkeypatch):
    names = {row["name"] for row in json.loads(gpusim("list", "recipes", "tlb", "--json").stdout)}
    assert "ideal-tlb" in names
    assert "closed-row" not in names
    some = json.loads(gpusim("list", "recipes", "TLB", "ideal", "--json").stdout)
    assert {row["name"] for row in some} < names
    assert (
        "none of the recipes has 'tlbs-of' in it"
        in gpusim("list", "recipes", "tlbs-of", code=2).stderr
    )
    monkeypatch.setenv("COLUMNS", "80")
    text = gpusim("show", "kepler-uvm", "tlb", "entries").stdout
    assert "entries" in text
    assert "clock" not in text
    assert max(map(len, text.splitlines())) <= 80


def test_studies_of_users_and_those_of_maintainers():
    users, own = (
        {row["name"] for row in json.loads(gpusim("list", what, "--json").stdout)}
        for what in ("studies", "maintenance")
    )
    assert {"compositions", "paging"} <= users
    assert {"fuzz", "speed", "policy-reference"} <= own
    assert not users & own
