"""`gpusim characterize`, from outside."""

import json

import matplotlib.image
import pytest
from typer.testing import CliRunner

from gpusim.cli.main import app
from gpusim.studies.characterize import intensity, read_characterization


def characterize(*arguments, code=0):
    command = ["characterize", *map(str, arguments)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == code, result.output
    return result


def test_tables():
    text = characterize("atax", "--scale", "smoke").stdout
    for part in (
        "kepler-uvm · atax · smoke",
        "atax_kernel1",
        "9,536",
        "b5: ≥ 80 %",
        "pages touched",
    ):
        assert part in text


def test_json_file_and_picture(tmp_path):
    path, picture = tmp_path / "c.h5", tmp_path / "c.png"
    settings = ("--set", "workload.n=256", "--set", "sm.count=4", "-v", "huge-pages")
    output = ("-o", path, "--plot", picture, "--json")
    text = characterize(
        "atax", "-m", "kepler-uvm", "--scale", "smoke", "--seed", 3, *settings, *output
    )
    found = json.loads(text.stdout)
    assert (found["model"], found["variants"], found["seed"]) == ("kepler-uvm", ["huge-pages"], 3)
    assert found["page_bytes"] == 2 << 20
    (one,) = found["applications"]
    assert one["sms"] == 4
    assert one["summary"]["array_footprint"] == 4 * (256 * 256 + 3 * 256)
    assert one["kernels"][0]["blocks"] == 1
    assert json.loads(json.dumps(read_characterization(path).to_json())) == found
    height, width, _ = matplotlib.image.imread(picture).shape
    assert width > height > 500


def test_drawn_pairs_are_told(monkeypatch):
    monkeypatch.setattr(intensity, "MAX_BLOCKS", 2)
    assert "counted for 4 of 24 ordered pairs" in characterize("atax", "--scale", "smoke").stdout


@pytest.mark.long
def test_several_applications(tmp_path):
    text = "".join(
        f'[[applications]]\nname = "{name}"\nworkload = "{name}"\n' for name in ("atax", "bicg")
    )
    file = tmp_path / "two.toml"
    file.write_text(text)
    picture = tmp_path / "two.svg"
    found = json.loads(characterize(file, "--scale", "smoke", "--plot", picture, "--json").stdout)
    assert [(one["name"], one["sms"]) for one in found["applications"]] == [
        ("atax", 8),
        ("bicg", 8),
    ]
    assert "<svg" in picture.read_text()


def test_tlbs_as_table_json_and_picture(tmp_path):
    picture = tmp_path / "sizes.png"
    words = ("--tlbs", "base L2.entries=128,256 L2.ways=8,16", "--plot", picture)
    text = characterize("kepler-uvm", "srad", "--scale", "smoke", *words).stdout
    for part in ("TLBs without timing", "entries=128 ways=8", "18,496", "compulsory", "are walks"):
        assert part in text
    height, width, _ = matplotlib.image.imread(picture).shape
    assert width > height > 500
    words = ("--tlbs", "base star", "--json", "--plot", tmp_path / "designs.png")
    found = json.loads(characterize("kepler-uvm", "srad", "--scale", "smoke", *words).stdout)
    assert [one["name"] for one in found["designs"]] == ["base", "star"]
    first, second = found["designs"][0]["levels"]
    counts = first["applications"]["srad"]
    assert counts["hits"] + counts["misses"] == counts["lookups"] == 18496
    assert second["applications"]["srad"]["lookups"] == counts["misses"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("tiny", "atax", "-m", "tiny"), "two models: 'tiny' and --model tiny"),
        (("tiny", "atax", "bfs"), "3 names; allowed: a workload, or a model and a workload"),
        (("atax", "--tlbs", "L2.entires=4"), "did you mean 'tlb.L2.entries'"),
        (("atax", "--tlbs", "base", "-o", "x.h5"), "--json prints all numbers"),
        (("atacks",), "there is no workload"),
        (("atax", "-m", "keppler-uvm"), "did you mean 'kepler-uvm'"),
        (("atax", "--set", "workload.m=3"), "workload.m: unknown parameter"),
        (("atax", "--set", "sm.count=0"), "sm.count"),
        (("atax", "-o", "no/such/c.h5"), "there is no folder"),
        (("atax", "--plot", "no/such/c.png"), "there is no folder"),
        (("atax", "--plot", "c.bmp3"), "allowed: .eps"),
        (("atax", "--scale", "tiny"), "there is no scale 'tiny'"),
        (("atax", "--seed", "-1"), "must be 0 or more"),
    ],
)
def test_bad_input(arguments, message):
    scale = () if "--scale" in arguments else ("--scale", "smoke")
    result = characterize(*arguments, *scale, code=2)
    assert message in result.stderr
    assert "Traceback" not in result.output
