"""Workload files: shipped ones, overrides, and everything that can be wrong in one."""

import re
from pathlib import Path

import numpy as np
import pytest

from gpusim.errors import UserError
from gpusim.programs.kernel import Program
from gpusim.programs.workload import load_workload, summarize_workload, workload_names
from tests.programs.drain import chunks, drain

GOOD = """\
description = "two of a kind"

[footprint]
smoke = "1KiB"
quick = "1KiB"
paper = "1KiB"

[[applications]]
program = "atax"

[applications.smoke]
n = 8

[applications.quick]
n = 16

[applications.paper]
n = 32
"""


def write(tmp_path: Path, text: str) -> str:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return str(path)


def test_the_first_programs_are_there() -> None:
    assert {"atax", "bicg", "bfs", "mvt", "pagerank"} <= set(workload_names())


@pytest.mark.parametrize("name", workload_names())
@pytest.mark.parametrize("scale", ["smoke", "quick"])
def test_stated_footprints_are_right(name: str, scale: str) -> None:
    workload = load_workload(name, scale)
    summary = summarize_workload(name)
    total = sum(buffer.bytes for spec in workload.applications for buffer in spec.start().buffers)
    assert getattr(summary.footprint, scale) == -(-total // 1024) * 1024
    assert (workload.name, workload.scale, workload.seed) == (name, scale, 0)
    assert workload.description == summary.description


@pytest.mark.parametrize("name", ["atax", "bicg", "mvt"])
def test_stated_footprints_at_the_papers_size(name: str) -> None:
    (spec,) = load_workload(name, "paper").applications
    total = sum(buffer.bytes for buffer in spec.start().buffers)
    assert summarize_workload(name).footprint.paper == -(-total // 1024) * 1024


@pytest.mark.parametrize("name", workload_names())
def test_smoke_scale_is_small(name: str) -> None:
    transactions = 0
    for spec in load_workload(name, "smoke").applications:
        for _, chunk in chunks(spec.start()):
            lines = np.sort(chunk.address // 128, axis=2)
            new = np.diff(lines, axis=2, prepend=-1) != 0
            transactions += int((new & (lines >= 0)).sum())
    assert 1000 < transactions <= 20_000


def test_every_start_is_fresh() -> None:
    (spec,) = load_workload("bfs", "smoke").applications
    first = spec.start()
    names = drain(first)
    again = spec.start()
    assert isinstance(again, Program)
    assert drain(again) == names
    assert len(names) > 2
    assert again.memory is not first.memory


def test_the_seed_changes_the_graph() -> None:
    def arcs(seed: int) -> list[int]:
        graph = load_workload("pagerank", "smoke", seed).applications[0].graph
        assert graph is not None
        return graph.col.tolist()

    assert arcs(1) == arcs(1)
    assert arcs(1) != arcs(2)


def test_parameters_can_be_overridden(tmp_path: Path) -> None:
    (spec,) = load_workload("mvt", "smoke", overrides={"n": 64, "columns": "32"}).applications
    assert spec.start().buffers[0].bytes == 64 * 64 * 4
    (spec,) = load_workload("mvt", "smoke", overrides={"mvt.n": "128"}).applications
    assert spec.start().buffers[0].bytes == 128 * 128 * 4
    path = tmp_path / "own.graph"
    path.write_text("3 2\n2 3\n1\n1\n")
    workload = load_workload("bfs", "paper", overrides={"graph": str(path)})
    assert workload.applications[0].start().buffers[1].bytes == 16
    workload = load_workload("bfs", "smoke", overrides={"graph.vertices": 400})
    assert workload.applications[0].start().buffers[0].bytes == 3200
    grid = '{ generator = "grid", width = 5, height = 4 }'
    workload = load_workload("pagerank", "quick", overrides={"graph": grid, "iterations": "3"})
    assert len(drain(workload.applications[0].start())) == 7


def test_graph_files_lie_beside_the_workload(tmp_path: Path) -> None:
    (tmp_path / "own.graph").write_text("2 1\n2\n1\n")
    text = GOOD.replace('"atax"', '"bfs"')
    text = re.sub(r"n = \d+", 'graph = "own.graph"', text)
    workload = load_workload(write(tmp_path, text), "paper")
    graph = workload.applications[0].graph
    assert graph is not None
    assert graph.vertices == 2


def test_several_applications_with_names_and_shares(tmp_path: Path) -> None:
    second = GOOD[GOOD.index("[[applications]]") :]
    head = 'program = "atax"\nshare = 0.25\nname = "other"'
    text = GOOD + second.replace('program = "atax"', head)
    workload = load_workload(write(tmp_path, text), overrides={"other.n": 24, "columns": 4})
    first, other = workload.applications
    assert (first.name, first.share, other.name, other.share) == ("atax", None, "other", 0.25)
    assert [spec.start().name for spec in workload.applications] == ["atax", "other"]
    assert [spec.start().buffers[0].bytes for spec in workload.applications] == [1024, 2304]
    assert [spec.start().buffers[1].bytes for spec in workload.applications] == [16, 16]


def test_a_users_own_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_program.py").write_text(
        "import numpy as np\n"
        "from attrs import frozen\n"
        "from gpusim.programs.catalog import program\n"
        "from gpusim.programs.kernel import Program\n"
        "@frozen\n"
        "class Parameters:\n"
        "    words: int = 4\n"
        "@program('own', Parameters)\n"
        "class Own(Program):\n"
        "    def __init__(self, parameters, seed):\n"
        "        super().__init__('own')\n"
        "        self.memory.allocate('a', np.zeros(parameters.words, dtype=np.int32))\n"
        "    def launches(self):\n"
        "        return iter(())\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    text = re.sub(r"n = \d+", "words = 5", GOOD.replace('"atax"', '"own_program:Own"'))
    (spec,) = load_workload(write(tmp_path, text)).applications
    assert spec.start().buffers[0].bytes == 20


BAD = [
    (GOOD.replace("n = 16", "m = 16"), "toml:15: applications.0.quick.m = 16: unknown key; allow"),
    (GOOD.replace("n = 16", 'n = "16"'), "applications.0.quick.n = '16': must be a whole number"),
    (GOOD.replace("n = 16", "n = 0"), "applications.0.quick.n = 0: .*>= 1"),
    (GOOD.replace("n = 16", "n = 16\ncolumns = 17"), "'columns' must be from 1 to n = 16: 17"),
    (GOOD.replace('"atax"', '"atacks"'), "no program named 'atacks'; did you mean 'atax'"),
    (GOOD.replace('"atax"', '"no.module:X"'), "cannot load the program 'no.module:X'"),
    (GOOD.replace('"atax"', '"pathlib:Path"'), "not marked with @program"),
    (GOOD.replace("program =", "programme ="), "programme: unknown key; did you mean 'program'"),
    (GOOD.replace("[applications.paper]\nn = 32\n", ""), "applications.0.paper: is missing"),
    (GOOD.replace('"1KiB"', '"1 kilo"', 1), "footprint.smoke: .*'1 kilo' is not a size"),
    (GOOD[: GOOD.index("[[app")], "applications: is missing"),
    ("applications = []\n" + GOOD[: GOOD.index("[[app")], r"has no \[\[applications\]\]"),
    (GOOD + GOOD[GOOD.index("[[app") :], "two applications 'atax'"),
    (GOOD.replace('"atax"', '"atax"\nshare = 1.5'), "applications.0: 'share' must be <= 1: 1.5"),
    (GOOD.replace('"atax"', '"bfs"').replace("n = 16", ""), "graph = None: must be the path"),
    (GOOD.replace('"atax"', '"bfs"').replace("n = 16", 'graph = {generator = "grit"}'),
     r"graph.generator = 'grit': unknown; did you mean 'grid'"),
    (GOOD.replace('"atax"', '"bfs"').replace("n = 16", 'graph = {generator = "grid", with = 5}'),
     "graph.with = 5: unknown key; did you mean 'width'"),
    (GOOD.replace('"atax"', '"bfs"').replace("n = 16", 'graph = "none.graph"'),
     "cannot read graph file .*none.graph"),
    ("x = [", "is not a TOML file"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), BAD)
def test_wrong_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(UserError, match=message) as error:
        load_workload(path)
    assert str(tmp_path) in str(error.value)


def test_shares_add_up_to_one_at_most(tmp_path: Path) -> None:
    second = GOOD[GOOD.index("[[applications]]") :]
    text = GOOD.replace('"atax"', '"atax"\nshare = 0.5')
    text += second.replace('"atax"', '"mvt"\nshare = 0.75')
    with pytest.raises(UserError, match=r"shares add up to 1\.25"):
        load_workload(write(tmp_path, text))


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"colums": 5}, "--set workload.colums: unknown parameter; did you mean 'columns'"),
        ({"n": "many"}, "--set workload.n = 'many': must be a whole number"),
        ({"columns": 0}, "--set workload.columns = 0"),
        ({"n.x": 1}, "--set workload.n.x: 'n' is not made by a generator"),
        ({"graph": "x"}, "--set workload.graph: unknown parameter"),
    ],
)
def test_wrong_overrides_are_refused(overrides: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        load_workload("atax", "smoke", overrides=overrides)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"graph": 5}, "--set workload.graph = 5: must be the path"),
        ({"graph.vertices": 20}, "--set workload.graph: max_degree and largest_clique must be"),
        ({"graph.vertexes": 20}, "--set workload.graph.vertexes = 20: unknown key"),
        ({"graph": "/none.graph"}, "cannot read graph file /none.graph"),
    ],
)
def test_wrong_graph_overrides_are_refused(overrides: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        load_workload("bfs", "smoke", overrides=overrides)


def test_a_source_outside_of_the_graph() -> None:
    (spec,) = load_workload("bfs", "smoke", overrides={"source": 256}).applications
    with pytest.raises(UserError, match=r"application 'bfs': source = 256: .* has 256 vertices"):
        spec.start()


def test_names_scales_and_seeds() -> None:
    with pytest.raises(UserError, match="no workload named 'pagerang'; did you mean 'pagerank'"):
        load_workload("pagerang")
    with pytest.raises(UserError, match="no scale 'quik'; did you mean 'quick'"):
        load_workload("atax", "quik")
    with pytest.raises(UserError, match="the seed is -1"):
        load_workload("atax", "smoke", seed=-1)
