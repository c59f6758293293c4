"""Sweeps as data: what can be written, and what is refused with which words."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from gpusim.core.errors import UserError
from gpusim.runs.recorder import RECORDS
from gpusim.studies.sweep.spec import PlotTable, Sweep, read_sweep, to_plain
from gpusim.workloads.tables import SCALES

BASE = 'models = ["tiny"]\nworkloads = ["nw"]\n'


def read(folder: Path, text: str, name: str = "study.toml") -> Sweep:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return read_sweep(path)


def refusal(folder: Path, text: str) -> str:
    """What is said about a file, without its path."""
    with pytest.raises(UserError) as caught:
        read(folder, text)
    lines = str(caught.value).splitlines()
    start = f"{folder / 'study.toml'}:"
    assert all(line.startswith(start) for line in lines), lines
    return "\n".join(line.removeprefix(start) for line in lines)


# -- both forms ----------------------------------------------------------------------------------


def test_a_file_and_a_few_lines_of_python_say_the_same(tmp_path: Path) -> None:
    from_file = read(
        tmp_path,
        """
        title = "L1 and pages"
        models = "tiny"
        workloads = "nw"
        variants = ["baseline", "ideal-tlb+ideal-dram"]
        scale = "smoke"
        seeds = [0, 7]
        record = "walks"
        alone = "same"

        [set]
        "memory.page" = ["4KiB", "2MiB"]
        "tlb.L1.entries, tlb.L1.ways" = [[16, 4], [64, 8]]
        tlb.L1.ideal = true

        [[exclude]]
        "memory.page" = "2MiB"
        tlb.L1.ways = [4, 8]
        seed = 7

        [plot]
        value = "cycles"
        x = "tlb.L1.entries"
        relative_to = { variant = "baseline", memory.page = "4KiB" }
        lines = "memory.page"
        panels = "variant"
        """,
    )
    from_python = Sweep(
        name="study",
        title="L1 and pages",
        models="tiny",
        workloads=("nw",),
        variants=["baseline", "ideal-tlb+ideal-dram"],
        scale="smoke",
        seeds=np.array([0, 7]),
        record=["walks"],
        alone=["same"],
        set={
            "memory.page": ["4KiB", "2MiB"],
            "tlb.L1.entries, tlb.L1.ways": [(16, 4), [np.int64(64), 8]],
            "tlb.L1.ideal": True,
        },
        exclude={"memory.page": "2MiB", "tlb.L1.ways": [4, 8], "seed": 7},
        plot={
            "value": "cycles",
            "x": "tlb.L1.entries",
            "lines": "memory.page",
            "panels": "variant",
            "relative_to": {"variant": "baseline", "memory.page": "4KiB"},
        },
    )
    assert from_file == from_python
    assert from_file.axes == {
        "model": ("tiny",),
        "variant": ("baseline", "ideal-tlb+ideal-dram"),
        "workload": ("nw",),
        "seed": (0, 7),
        "memory.page": ("4KiB", "2MiB"),
        "tlb.L1.entries": (16, 64),
        "tlb.L1.ways": (4, 8),
        "tlb.L1.ideal": (True,),
    }
    assert {type(seed) for seed in from_python.seeds} == {int}


NAMES = st.sampled_from(["tiny", "kepler-uvm", "maxwell-mask"])
KEYS = ["memory.page", "tlb.L1.entries", "workload.n", "clock"]
VALUES = st.one_of(
    st.integers(-5, 5), st.booleans(), st.floats(0, 1, allow_nan=False), st.text(max_size=4)
)


@st.composite
def sweeps(draw: st.DrawFn) -> Sweep:
    keys = draw(st.lists(st.sampled_from(KEYS), unique=True))
    axes: dict[str, Any] = {
        key: draw(st.lists(VALUES, min_size=1, max_size=3)) for key in keys if key != "clock"
    }
    if "clock" in keys:
        rows = st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=2)
        axes["clock, l1.size"] = draw(rows)
    plain = [name for name in axes if "," not in name]
    exclude = [{name: draw(st.sampled_from(axes[name])) for name in plain}] if plain else []
    return Sweep(
        models=draw(st.lists(NAMES, min_size=1, max_size=3)),
        workloads=draw(st.lists(st.sampled_from(["nw", "mask/NW_HS"]), min_size=1)),
        variants=draw(st.lists(st.sampled_from(["baseline", "a+b"]), min_size=1)),
        name=draw(st.sampled_from(["sweep", "a.b-c_1"])),
        title=draw(st.text(max_size=10)),
        scale=draw(st.sampled_from(SCALES)),
        seeds=draw(st.lists(st.integers(0, 99), min_size=1)),
        set=axes,
        exclude=exclude,
        record=draw(st.lists(st.sampled_from(list(RECORDS)), unique=True)),
        alone=draw(st.lists(st.sampled_from(["same", "baseline"]), unique=True)),
        split_step=draw(st.integers(0, 3)),
    )


@given(sweeps())
def test_a_sweep_survives_its_own_file(
    tmp_path_factory: pytest.TempPathFactory, sweep: Sweep
) -> None:
    path = tmp_path_factory.getbasetemp() / f"{sweep.name}.toml"
    path.write_bytes(tomli_w.dumps(to_plain(sweep)).encode())
    assert read_sweep(path) == sweep


def test_shipped_sweeps_can_be_read_and_rescaled() -> None:
    sweep = read_sweep("l1-tlb-reach")
    assert sweep.name == "l1-tlb-reach"
    assert read_sweep("l1-tlb-reach", scale="smoke") == attrs.evolve(sweep, scale="smoke")
    assert read_sweep("l1-tlb-reach", scale="smoke").scale == "smoke"
    with pytest.raises(UserError, match="there is no scale 'smoky'; did you mean 'smoke'"):
        read_sweep("l1-tlb-reach", scale="smoky")
    with pytest.raises(UserError, match="no experiment named 'l1-tlb-rich'; did you mean"):
        read_sweep("l1-tlb-rich")
    with pytest.raises(UserError, match=r"no experiment file 'nowhere\.toml'"):
        read_sweep("nowhere.toml")


# -- paths ---------------------------------------------------------------------------------------


def test_paths_of_recipes_are_relative_to_the_folder_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, elsewhere = tmp_path / "a+b", tmp_path / "elsewhere"
    study.mkdir()
    elsewhere.mkdir()
    (study / "my.toml").touch()
    text = """
        models = ["tiny"]
        workloads = ["nw"]
        variants = ["baseline", "star+my.toml+sub/your.toml", "mask+ideal-dram"]
        alone = ["same", "my.toml"]
    """
    (study / "a.toml").write_text(text)
    monkeypatch.chdir(elsewhere)
    sweep = read_sweep("../a+b/a.toml")
    assert sweep.variants == (
        "baseline",
        "star+../a+b/my.toml+../a+b/sub/your.toml",
        "mask+ideal-dram",
    )
    assert sweep.alone == ("same", "../a+b/my.toml")
    absolute = to_plain(sweep)
    assert absolute["alone"] == ("same", f"{elsewhere}/../a+b/my.toml")
    assert to_plain(Sweep(**absolute)) == absolute


def test_paths_are_relative_to_the_folder_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, elsewhere = tmp_path / "study", tmp_path / "elsewhere"
    study.mkdir()
    elsewhere.mkdir()
    (study / "recorded.h5").touch()
    (study / "nw").mkdir()  # a folder is no trace
    text = """
        models = ["tiny", "mine.toml", "sub/yours.toml"]
        workloads = ["nw", "mask/NW", "mine.toml", "recorded.h5"]
        exclude = [{ model = "mine.toml", workload = ["recorded.h5", "nw"] }]
        [set]
        "workload.graph" = ["a.el", "sub/b.el"]
        "workload.bfs.graph, memory.page" = [["c.el", "4KiB"]]
        [plot]
        value = "ipc"
        x = "model"
        lines = "workload"
        panels = "workload.graph"
        relative_to = { model = "mine.toml" }
    """
    (study / "a.toml").write_text(text)
    monkeypatch.chdir(elsewhere)
    sweep = read_sweep("../study/a.toml")
    assert sweep.models == ("tiny", "../study/mine.toml", "../study/sub/yours.toml")
    assert sweep.workloads == ("nw", "mask/NW", "../study/mine.toml", "../study/recorded.h5")
    assert sweep.exclude == (
        {"model": ("../study/mine.toml",), "workload": ("../study/recorded.h5", "nw")},
    )
    assert sweep.axes["workload.graph"] == ("../study/a.el", "../study/sub/b.el")
    assert sweep.axes["workload.bfs.graph"] == ("../study/c.el",)
    assert sweep.plot is not None
    assert sweep.plot.relative_to == {"model": "../study/mine.toml"}

    plain = to_plain(sweep)  # what is kept elsewhere still means the same files
    assert plain["models"][0] == "tiny"
    kept = [*plain["models"][1:], *plain["set"]["workload.graph"], plain["workloads"][3]]
    assert [os.path.normpath(path) for path in kept] == [
        str(study / name)
        for name in ("mine.toml", "sub/yours.toml", "a.el", "sub/b.el", "recorded.h5")
    ]
    (tmp_path / "a.toml").write_text(tomli_w.dumps(plain))
    assert to_plain(read_sweep(tmp_path / "a.toml")) == plain


def test_python_takes_path_objects(tmp_path: Path) -> None:
    sweep = Sweep(models=tmp_path / "mine.toml", workloads=[Path("trace.h5"), "nw"])
    assert sweep.models == (str(tmp_path / "mine.toml"),)
    assert sweep.workloads == ("trace.h5", "nw")


# -- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('modles = ["tiny"]\n' + BASE, "1: modles: unknown key; did you mean 'models'?; allowed: "),
        ('models = ["tiny"]\n', " workloads: is missing"),
        (
            BASE + 'scale = "qick"\n',
            "3: scale: there is no scale 'qick'; did you mean 'quick'?; al",
        ),
        (BASE + 'seeds = [1, "2"]\n', "3: seeds.1: must be a whole number"),
        (BASE + "seeds = [true]\n", "3: seeds.0: must be a whole number"),
        (BASE + "seeds = []\n", "3: seeds: is empty"),
        (BASE + "variants = []\n", "3: variants: is empty"),
        ('models = []\nworkloads = ["nw"]\n', "1: models: is empty"),
        ('workloads = []\nmodels = ["nw"]\n', "1: workloads: is empty"),
        ('models = ["tiny", 3]\nworkloads = ["nw"]\n', "1: models.1: must be a string"),
        (BASE + "title = 3\n", "3: title: must be a string"),
        (BASE + "split_step = -1\n", "3: split_step: -1: must be a whole number >= 0"),
        (BASE + "split_step = 1.5\n", "3: split_step: must be a whole number"),
        (BASE + 'name = "two words"\n', "3: name: 'two words' cannot name files: letters, digits"),
        (BASE + 'name = ".hidden"\n', "3: name: '.hidden' cannot name files"),
        (BASE + 'name = "a/b"\n', "3: name: 'a/b' cannot name files"),
        (
            BASE + 'record = ["walk"]\n',
            "3: record: cannot record 'walk'; did you mean 'walks'?; al",
        ),
        (BASE + "alone = 3\n", "3: alone.0: must be a string"),
        (BASE + "set = 3\n", "3: set: must be a table"),
        (BASE + '[set]\n"a.b" = []\n', "4: set.a.b: has no values"),
        (BASE + "[set]\na.b = []\n", "4: set.a.b: has no values"),
        (BASE + '[set]\n"a.b" = [[1]]\n', "4: set.a.b: [1]: must be a number, a string, true or"),
        (BASE + '[set]\n"a, b" = [1]\n', "4: set.a, b: 1: must be a list of 2 values, one for eac"),
        (BASE + '[set]\n"a, b" = [[1, 2], [3]]\n', "4: set.a, b: [3]: must be a list of 2 values"),
        (BASE + '[set]\n"a, b" = [[1, [2]]]\n', "4: set.a, b: [1, (2,)]: must be a list of 2"),
        (BASE + '[set]\n"a, " = [[1, 2]]\n', "4: set.a, : a key is empty"),
        (BASE + '[set]\n"a, a" = [[1, 2]]\n', "4: set.a, a: a is set twice"),
        (BASE + '[set]\na = 1\n"b, a" = [[1, 2]]\n', "5: set.b, a: a is set twice"),
        (BASE + "[set]\nvariant = 1\n", "4: set.variant: is no key of a model; write variants, ou"),
        (BASE + "exclude = 3\n", "3: exclude.0: must be a table"),
        (BASE + "[[exclude]]\n", "3: exclude.0: is empty"),
        (BASE + '[[exclude]]\nmodell = "tiny"\n', "4: exclude.0.modell: unknown; did you mean 'mo"),
        (
            BASE + "[exclude]\nrole = 1\n",
            "4: exclude.0.role: unknown; allowed: model, variant, wor",
        ),
        (
            BASE + '[set]\nmemory.page = ["4KiB", "2MiB"]\n[exclude]\nmemory.page = "2MB"\n',
            "6: exclude.0.memory.page: '2MB' is none of its values; did you mean '2MiB'?; a",
        ),
        (
            BASE + '[[exclude]]\nmodel = "tiny"\n[[exclude]]\nseeds = 1\n',
            " exclude.1.seeds: unknown; did you mean 'seed'?",
        ),
        (BASE + "plot = 3\n", "3: plot: must be a table"),
        (BASE + "[plot]\nx = 'model'\n", "3: plot.value: is missing"),
        (
            BASE + "[plot]\nvalue = 'ipc'\nx = 'mode'\n",
            "5: plot.x: unknown 'mode'; did you mean 'mo",
        ),
        (BASE + "[plot]\nvalue = 'ipc'\nx = ''\n", "5: plot.x: unknown ''; allowed: model"),
        (BASE + "[plot]\nvalue = 'ipc'\nx = 'model'\n", "5: plot.x: model has only one value"),
        (
            BASE + "seeds = [0, 1]\n[plot]\nvalue = 'ipc'\nx = 'seed'\nlines = 'seed'\n",
            "6: plot.x: seed is used twice",
        ),
        (
            BASE + "[set]\na = [1, 2]\nb = [1, 2]\n[plot]\nvalue = 'ipc'\nx = 'a'\n",
            "6: plot: b has several values: use it as x, lines or panels",
        ),
        (
            BASE + "[set]\na = [1, 2]\n[plot]\nvalue = 'ipc'\nx = 'a'\nrelative_to.a = 3\n",
            "8: plot.relative_to.a: '3' is none of its values; allowed: 1, 2",
        ),
        (
            BASE + "[set]\na = [1, 2]\n[plot]\nvalue = 'ipc'\nx = 'a'\nrelative_to = { b = 3 }\n",
            "8: plot.relative_to.b: unknown; allowed: model, variant, workload, seed, a",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, text: str, words: str) -> None:
    assert refusal(tmp_path, text).splitlines()[0].startswith(words)


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    said = refusal(tmp_path, 'models = []\nworkloads = ["nw"]\nscale = "huge"\nsplit_step = -2\n')
    assert [line.partition(":")[0] for line in said.splitlines()] == ["1", "3", "4"]


def test_what_is_no_toml_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text("models = [3\nworkloads = 4\n")
    with pytest.raises(UserError, match=r"study\.toml is not a TOML file: .*line 2"):
        read_sweep(path)


def test_a_file_whose_name_is_none_for_files(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"my study\.toml: name: 'my study' cannot name files"):
        read(tmp_path, BASE, "my study.toml")
    assert read(tmp_path, BASE + 'name = "mine"\n', "my study.toml").name == "mine"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"models": []}, "sweep 'sweep': models: is empty"),
        ({"models": 3}, "models.0: 3: must be a string"),
        ({"workloads": ["nw", None]}, "workloads.1: None: must be a string"),
        ({"seeds": "1"}, "seeds.0: '1': must be a whole number"),
        ({"seeds": [True]}, "seeds.0: True: must be a whole number"),
        ({"split_step": "2"}, "split_step: '2': must be a whole number >= 0"),
        ({"name": "a b", "scale": "paper"}, "sweep 'a b': name: 'a b' cannot name files"),
        ({"set": {"a": [None]}}, "set.a: None: must be a number, a string, true or false"),
        ({"exclude": [{"sed": 1}]}, "exclude.0.sed: unknown; did you mean 'seed'"),
        ({"plot": {"value": "ipc", "y": "model"}}, "plot: .*y: unknown key"),
        ({"plot": PlotTable(value="ipc", x="model")}, "plot.x: model has only one value"),
    ],
)
def test_python_is_told_the_same(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        Sweep(**{"models": "tiny", "workloads": "nw", **fields})


def test_keys_that_change_together_are_one_axis_of_a_plot() -> None:
    plot = {"value": "cycles", "x": "tlb.L1.entries"}
    together = {"tlb.L1.entries, tlb.L1.ways": [[16, 4], [64, 8]]}
    assert Sweep(models="tiny", workloads="nw", set=together, plot=plot).plot == PlotTable(**plot)
