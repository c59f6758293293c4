"""Workload files: shipped ones, overrides, and everything that can be wrong in one."""

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from gpusim.core.errors import UserError
from gpusim.machine.load import load_model
from gpusim.programs.graphs.graph import Graph
from gpusim.programs.kernel import Program
from gpusim.runs.simulate import simulate
from gpusim.workloads import library
from gpusim.workloads.builder import ProgramStart
from gpusim.workloads.library import find_workload, read_paper, workload_names
from gpusim.workloads.workload import Workload, load_workload
from tests.programs.drain import chunks, drain

GOOD = """\
description = "two of a kind"

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


def graph_of(workload: Workload) -> Graph:
    start = workload.applications[0].start
    assert isinstance(start, ProgramStart)
    assert start.graph is not None
    return start.graph


def test_the_first_programs_are_there() -> None:
    assert {"atax", "bicg", "bfs", "mvt", "pagerank"} <= set(workload_names())


@pytest.mark.parametrize("name", workload_names())
def test_smoke_scale_is_small(name: str) -> None:
    transactions = 0
    for spec in load_workload(name, "smoke").applications:
        for _, chunk in chunks(spec.start()):
            lines = np.sort(chunk.address // 128, axis=2)
            new = np.diff(lines, axis=2, prepend=-1) != 0
            transactions += int((new & (lines >= 0)).sum())
    assert (0 if name == "launches" else 1001) <= transactions <= 20_000


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
        return graph_of(load_workload("pagerank", "smoke", seed)).col.tolist()

    assert arcs(1) == arcs(1)
    assert arcs(1) != arcs(2)


def test_parameters_can_be_overridden(tmp_path: Path) -> None:
    (spec,) = load_workload("mvt", "smoke", overrides={"n": 64, "iterations": "32"}).applications
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


def test_the_resolved_workload_as_text() -> None:
    changes = {"graph.vertices": 300, "sample": 2}
    resolved = tomllib.loads(load_workload("bfs", "smoke", 3, changes).to_toml())
    (application,) = resolved.pop("applications")
    assert resolved == {"name": "bfs", "scale": "smoke", "seed": 3, "relaunch": False}
    graph = application.pop("graph")
    assert application == {"name": "bfs", "program": "bfs", "sample": 2}
    assert (graph["generator"], graph["vertices"], graph["max_degree"]) == ("co-papers", 300, 64)
    assert 0 < graph["isolated"] < 1  # a default of the generator


def test_graph_files_lie_beside_the_workload(tmp_path: Path) -> None:
    (tmp_path / "own.graph").write_text("2 1\n2\n1\n")
    text = GOOD.replace('"atax"', '"bfs"')
    text = re.sub(r"n = \d+", 'graph = "own.graph"', text)
    workload = load_workload(write(tmp_path, text), "paper")
    assert graph_of(workload).vertices == 2


def test_several_applications_with_names_and_shares(tmp_path: Path) -> None:
    second = GOOD[GOOD.index("[[applications]]") :]
    head = 'program = "atax"\nshare = 0.25\nname = "other"'
    text = GOOD + second.replace('program = "atax"', head)
    workload = load_workload(write(tmp_path, text), overrides={"other.n": 24, "iterations": 4})
    first, other = workload.applications
    assert (first.name, first.share, other.name, other.share) == ("atax", None, "other", 0.25)
    assert [spec.start().name for spec in workload.applications] == ["atax", "other"]
    assert [spec.start().buffers[0].bytes for spec in workload.applications] == [1024, 2304]
    assert [spec.start().buffers[1].bytes for spec in workload.applications] == [64, 96]


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
    (GOOD.replace("n = 16", "m = 16"), "toml:10: applications.0.quick.m = 16: unknown key; allow"),
    (GOOD.replace("n = 16", 'n = "16"'), "applications.0.quick.n = '16': must be a whole number"),
    (GOOD.replace("n = 16", "n = 0"), "applications.0.quick.n = 0: .*from 1 to 32768"),
    (
        GOOD.replace("n = 16", "n = 16\niterations = 17"),
        r"'iterations' must be from 1 to 16 \(n = 16, .*: 17",
    ),
    (GOOD.replace('"atax"', '"atacks"'), "no program named 'atacks'; did you mean 'atax'"),
    (GOOD.replace('"atax"', '"no.module:X"'), "cannot load the program 'no.module:X'"),
    (GOOD.replace('"atax"', '"pathlib:Path"'), "Path is no program: mark it with @gpusim.program"),
    (GOOD.replace("program =", "programme ="), "programme: unknown key; did you mean 'program'"),
    (
        GOOD.replace("[applications.quick]\nn = 16\n", ""),
        "applications.0: has no table 'quick'; there are: smoke, paper",
    ),
    (GOOD.replace('"atax"', '"atax"\nworkload = "bfs"'), "exactly one of the keys program, workl"),
    (GOOD.replace('program = "atax"', ""), "exactly one of the keys program, workload, trace"),
    (
        GOOD.replace('program = "atax"', 'workload = "atacks"'),
        "applications.0.workload: there is no workload named 'atacks'; did you mean 'atax'",
    ),
    (GOOD.replace('program = "atax"', 'workload = "mine.toml"'), "refers to itself"),
    (GOOD.replace('program = "atax"', 'workload = "HISTO_GUP"'), "'HISTO_GUP': has 2 applications"),
    (
        GOOD.replace('program = "atax"', 'workload = "bfs"'),
        "applications.0.quick.n = 16: unknown key; allowed: source",
    ),
    (GOOD.replace('"atax"', '"atax"\ninstance = "8g"'), "'instance' must match regex"),
    (GOOD.replace('"atax"', '"atax"\ninstance = "3g"\nshare = 0.5'), "at most one of the keys sha"),
    ('pattern = "stream"\n' + GOOD, "pattern: must be one of 'streaming'"),
    ('relaunch = "always"\n' + GOOD, "relaunch: must be one of 'never', 'until-all-have-run'"),
    (GOOD[: GOOD.index("[[app")], "applications: is missing"),
    ("applications = []\n" + GOOD[: GOOD.index("[[app")], "applications: is empty"),
    (GOOD + GOOD[GOOD.index("[[app") :], "two applications 'atax'"),
    (GOOD.replace('"atax"', '"atax"\nshare = 1.5'), "applications.0: 'share' must be <= 1: 1.5"),
    (GOOD.replace('"atax"', '"bfs"').replace("n = 16", ""), "graph = None: must be the path"),
    (
        GOOD.replace('"atax"', '"bfs"').replace("n = 16", 'graph = {generator = "grit"}'),
        r"graph.generator = 'grit': unknown; did you mean 'grid'",
    ),
    (
        GOOD.replace('"atax"', '"bfs"').replace("n = 16", 'graph = {generator = "grid", with = 5}'),
        "graph.with = 5: unknown key; did you mean 'width'",
    ),
    (
        GOOD.replace('"atax"', '"bfs"').replace("n = 16", 'graph = "none.graph"'),
        "cannot read graph file .*none.graph",
    ),
    ("x = [", "is not a TOML file"),
]


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
        (
            {"iteration": 5},
            "overrides: iteration: unknown parameter; did you mean 'iterations'",
        ),
        ({"n": "many"}, "overrides: n = 'many': must be a whole number"),
        ({"iterations": 0}, "overrides: iterations = 0"),
        ({"n.x": 1}, "overrides: n.x: 'n' is not made by a generator"),
        ({"graph": "x"}, "overrides: graph: unknown parameter"),
    ],
)
def test_wrong_overrides_are_refused(overrides: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        load_workload("atax", "smoke", overrides=overrides)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"graph": 5}, "overrides: graph = 5: must be the path"),
        ({"graph.vertices": 20}, "overrides: graph: max_degree and largest_clique must be"),
        ({"graph.vertexes": 20}, "overrides: graph.vertexes = 20: unknown key"),
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


def test_a_workload_can_refer_to_another_and_change_its_parameters(tmp_path: Path) -> None:
    text = GOOD.replace('program = "atax"', 'workload = "bfs"')
    text = re.sub("n = 16", "graph.vertices = 2000", text)
    (spec,) = load_workload(write(tmp_path, text), "quick").applications
    assert spec.name == "bfs"
    assert spec.start().buffers[0].bytes == 2000 * 8
    (spec,) = load_workload(write(tmp_path, text), overrides={"graph.vertices": 2100}).applications
    assert spec.start().buffers[0].bytes == 2100 * 8


def test_mistakes_are_told_where_they_are(tmp_path: Path) -> None:
    (tmp_path / "inner.toml").write_text(GOOD)
    outer = '[[applications]]\nworkload = "inner.toml"\nname = "x"\nquick.iterations = 4\n'
    (spec,) = load_workload(write(tmp_path, outer)).applications
    assert (spec.name, spec.start().buffers[0].bytes) == ("x", 16 * 16 * 4)
    with pytest.raises(UserError, match=r"mine.toml:4: .*quick.iteration = 4: unknown key"):
        load_workload(write(tmp_path, outer.replace("iterations", "iteration")))
    (tmp_path / "inner.toml").write_text(GOOD.replace("n = 16", "n = 0"))
    with pytest.raises(UserError, match=r"inner.toml:10: applications.0.quick.n = 0"):
        load_workload(write(tmp_path, outer))


def test_instances(tmp_path: Path) -> None:
    second = GOOD[GOOD.index("[[applications]]") :].replace('"atax"', '"mvt"')
    text = GOOD.replace('"atax"', '"atax"\ninstance = "3g"')
    with pytest.raises(UserError, match="some have an instance and some have none"):
        load_workload(write(tmp_path, text + second))
    text += second.replace('"mvt"', '"mvt"\ninstance = "4g"')
    workload = load_workload(write(tmp_path, 'relaunch = "until-all-have-run"\n' + text))
    assert [spec.instance for spec in workload.applications] == [3, 4]
    assert workload.relaunch


def test_workloads_of_papers_have_names_of_their_own() -> None:
    assert len(read_paper("mask").workloads) == 27 + 35 + 5
    assert find_workload("BFS2").name == "mask/BFS2"
    assert find_workload("mask/BFS2").table == find_workload("BFS2").table
    assert find_workload("bfs").path.name == "bfs.toml"
    with pytest.raises(UserError, match="several papers have a workload 'NW': write mask/NW or"):
        find_workload("NW")
    with pytest.raises(UserError, match="'mask/BFS3'; did you mean 'mask/BFS2'"):
        find_workload("mask/BFS3")
    with pytest.raises(UserError, match="no paper 'maks'; did you mean 'mask'"):
        read_paper("maks")


def test_names_scales_and_seeds() -> None:
    with pytest.raises(UserError, match="no workload named 'pagerang'; did you mean 'pagerank'"):
        load_workload("pagerang")
    with pytest.raises(UserError, match="no scale 'quik'; did you mean 'quick'"):
        load_workload("atax", "quik")
    with pytest.raises(UserError, match="the seed is -1"):
        load_workload("atax", "smoke", seed=-1)
    for seed in (1.5, True, "1"):
        with pytest.raises(UserError, match=f"the seed is {seed!r}; must be a whole number"):
            load_workload("atax", "smoke", seed=seed)  # type: ignore[arg-type]


def test_numbers_of_numpy_are_numbers() -> None:
    plain = load_workload("gups", "smoke", 3, {"threads": 128})
    given = load_workload("gups", "smoke", np.int64(3), {"threads": np.int64(128)})
    tiny = load_model("tiny", overrides={"tlb.L1.ways": 1, "dram.drain_high": 0.75})
    ways, high = np.arange(1, 3)[0], np.float32(0.75)
    same = load_model("tiny", overrides={"tlb.L1.ways": ways, "dram.drain_high": high})
    with simulate(tiny, plain) as one, simulate(same, given) as other:
        assert one.digest == other.digest
        assert one.provenance.overrides == other.provenance.overrides
    with pytest.raises(UserError, match=r"n = 1\.5: must be a whole number"):
        load_workload("atax", "smoke", overrides={"n": np.float64(1.5)})


def test_a_program_without_a_workload_file_runs_at_its_defaults(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(library, "workload_names", tuple)
    (spec,) = load_workload("launches", "smoke", overrides={"blocks": 3}).applications
    assert spec.origin == {
        "program": "launches",
        "sample": 1,
        "count": 8,
        "blocks": 3,
        "threads": 256,
    }
