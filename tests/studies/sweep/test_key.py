"""What a run is known by: equal keys for what must be equal, other keys for all that matters."""

from __future__ import annotations

import importlib
import linecache
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gpusim
from gpusim import load_model, load_workload
from gpusim.core import registry
from gpusim.core.errors import UserError
from gpusim.core.registry import Slot, policy
from gpusim.hardware.tlb import SetAssociativeArray
from gpusim.runs.options import RunOptions
from gpusim.studies.sweep import code
from gpusim.studies.sweep.code import semantics
from gpusim.studies.sweep.key import KEY_LENGTH, content_key
from gpusim.studies.sweep.user_sources import own_code
from gpusim.traces.recorder import record_trace
from tests import ROOT
from tests.quick import quick
from tests.traces.writing import EXIT, block, header, write
from tests.whole.forked import forked_script


def key(
    workload: str = "nw",
    variants: tuple[str, ...] = (),
    seed: int = 0,
    scale: str = "smoke",
    options: RunOptions | None = None,
    model: str = "tiny",
    **settings: Any,
) -> str:
    """Of a run; a setting's ``__`` is a dot."""
    given = {name.replace("__", "."): value for name, value in settings.items()}
    inside = {k.removeprefix("workload."): v for k, v in given.items() if k.startswith("workload.")}
    machine = {k: v for k, v in given.items() if not k.startswith("workload.")}
    return content_key(
        load_model(model, variants, machine),
        load_workload(workload, scale, seed, inside),
        options or RunOptions(),
    )


# -- resolved content ----------------------------------------------------------------------------


def test_a_key_is_text_for_a_file_name() -> None:
    assert len(key()) == KEY_LENGTH
    assert set(key()) <= set("0123456789abcdef")


def test_the_same_run_has_the_same_key_however_it_is_written() -> None:
    same = [
        key(tlb__L1__entries=8),  # what tiny has
        key(tlb__L1__entries="8"),
        key(workload__n=64),  # what smoke has
        key(variants=("ideal-dram",), dram__ideal=False),
        key(clock="1GHz"),
        key(model=str(ROOT / "models" / "tiny.toml")),
        key(workload=str(ROOT / "workloads" / "nw.toml")),
    ]
    assert set(same) == {key()}
    assert key(variants=("ideal-dram",)) == key(dram__ideal="true")
    recorded = (["walks", "tlb"], ["tlb", "walks", "tlb"])
    assert len({key(options=RunOptions(record=names)) for names in recorded}) == 1
    assert key(options=RunOptions(output="x.h5", log="x.jsonl")) == key()
    one = load_model("tiny", (), {"clock": "2GHz", "tlb.L1.entries": 4})
    other = load_model("tiny", (), {"tlb.L1.entries": 4, "clock": "2GHz"})
    nw = load_workload("nw", "smoke")
    assert content_key(one, nw) == content_key(other, nw)


def test_another_run_has_another_key() -> None:
    others = [
        key(tlb__L1__entries=4),
        key(workload__n=32),
        key(variants=("ideal-dram",)),
        key(variants=("ideal-tlb",)),
        key(seed=1),
        key(scale="quick"),
        key(options=RunOptions(record=("walks",))),
        key(options=RunOptions(record=("walks", "tlb"))),
        key(options=RunOptions(until=["9kcycles"])),
        key(options=RunOptions(skip="1launches")),
        key(workload="mask/NW"),  # results name it
        key(workload="histo"),
        key(model="kepler-uvm"),
    ]
    assert len({key(), *others}) == 1 + len(others)


def test_shares_count_as_the_sms_that_they_are() -> None:
    model, mix = load_model("tiny", (), {"sm.count": 8}), load_workload("mask/NW_LPS", "smoke")
    assert content_key(model, mix) == content_key(model, mix.split((0.5, 0.5)))
    assert content_key(model, mix) == content_key(model, mix.split((0.51, 0.49)))
    assert content_key(model, mix) != content_key(model, mix.split((0.25, 0.75)))
    alone, other = mix.alone("NW"), load_workload("mask/NW_HS", "smoke").alone("NW")
    halves = [workload.split((0.5,)) for workload in (alone, other)]
    assert content_key(model, halves[0]) == content_key(model, halves[1])
    assert len({content_key(model, one) for one in (mix, alone, halves[0])}) == 3


def test_versions_count(monkeypatch: pytest.MonkeyPatch) -> None:
    before = key()
    with monkeypatch.context() as patch:
        patch.setattr("gpusim.studies.sweep.key.SCHEMA_VERSION", 999)
        assert key() != before
    with monkeypatch.context() as patch:
        patch.setattr("gpusim.studies.sweep.key.semantics", lambda: "another simulator")
        assert key() != before
    assert key() == before


@pytest.mark.parametrize("seed", quick(["1", "2"], "1"))
def test_keys_are_the_same_in_any_process(seed: str) -> None:
    program_text = (
        "from gpusim import load_model, load_workload\n"
        "from gpusim.studies.sweep.key import content_key\n"
        "print(content_key(load_model('tiny', ['ideal-dram'], {'clock': '2GHz', 'l1.mshrs': 4}),\n"
        "                  load_workload('bfs', 'smoke', 3, {'graph.vertices': 128})))\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", program_text],
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": seed},
    ).stdout.strip()
    here = content_key(
        load_model("tiny", ["ideal-dram"], {"l1.mshrs": 4, "clock": "2GHz"}),
        load_workload("bfs", "smoke", 3, {"graph.vertices": 128}),
    )
    assert found == here


# -- input files ---------------------------------------------------------------------------------


def test_the_content_of_a_graph_counts_and_its_path_does_not(tmp_path: Path) -> None:
    first, second = tmp_path / "first.el", tmp_path / "sub" / "second.el"
    second.parent.mkdir()
    edges = "0 1\n1 2\n2 3\n3 0\n"
    first.write_text(edges)
    second.write_text(edges)
    keys = [key(workload="bfs", workload__graph=str(path)) for path in (first, second)]
    assert keys[0] == keys[1] != key(workload="bfs")
    second.write_text(edges + "0 2\n")
    assert key(workload="bfs", workload__graph=str(second)) != keys[1]
    second.unlink()
    with pytest.raises(UserError, match=r"second\.el"):
        key(workload="bfs", workload__graph=str(second))


def test_the_content_of_a_trace_counts_and_its_path_does_not(tmp_path: Path) -> None:
    def traced(name: str, n: int) -> str:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        record_trace(load_workload("nw", "smoke", overrides={"n": n}), path)
        return str(path)

    first, second = traced("first.h5", 32), traced("sub/second.h5", 48)
    keys = [key(workload=first), key(workload=second)]
    assert len({*keys, key(workload__n=32)}) == 3
    shutil.copy(first, second)
    assert key(workload=second) == keys[0]
    assert key(workload=first, seed=5, scale="paper") == keys[0]  # a trace has its own


@pytest.mark.parametrize("name", ["", "kernelslist.g"])
def test_all_files_of_a_trace_in_a_folder_count(tmp_path: Path, name: str) -> None:
    load = "0010 ffffffff 1 R4 LDG.E 1 R2 4 1 0x7f1000000000 4 0"
    for folder in ("a", "b"):
        (tmp_path / folder / "toy").mkdir(parents=True)
        write(tmp_path / folder / "toy" / "kernel-1.traceg", header() + block([[load, EXIT]]))
        write(tmp_path / folder / "toy" / "kernelslist.g", "kernel-1.traceg\n")
    keys = [key(workload=str(tmp_path / folder / "toy" / name)) for folder in ("a", "b")]
    assert keys[0] == keys[1]
    write(tmp_path / "b" / "toy" / "kernel-1.traceg", header() + block([[EXIT]]))
    assert key(workload=str(tmp_path / "b" / "toy" / name)) != keys[0]


# -- gpusim's own code ---------------------------------------------------------------------------

SOURCE = '''
"""A module."""
import os

LIMIT = 3
"""A limit."""

class Queue:
    """A queue."""

    depth: int = 4
    """How deep."""

    def push(self, item):
        """Add."""
        if item:  # why
            return [item, LIMIT]
        return os.sep
'''


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  # why", ""),
        ("  # why", "  # for another reason"),
        ('"""A module."""', ""),
        ('"""Add."""', '"""Adds an item.\n\n        At the end.\n        """'),
        ('"""How deep."""', "# How deep"),
        ("\n\nclass", "\n\n\n\n\nclass"),
        ("[item, LIMIT]", "[\n                item,\n                LIMIT,\n            ]"),
        ("return os.sep", "return (os.sep)"),
    ],
)
def test_comments_and_layout_are_no_semantics(old: str, new: str) -> None:
    assert old in SOURCE
    assert code._module(SOURCE.replace(old, new)) == code._module(SOURCE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("LIMIT = 3", "LIMIT = 4"),
        ("LIMIT = 3", "LIMIT = 3.0"),
        ("LIMIT = 3", "LIMIT = '3'"),
        ("depth: int = 4", "depth = 4"),
        ("[item, LIMIT]", "[LIMIT, item]"),
        ("[item, LIMIT]", "(item, LIMIT)"),
        ("if item:", "if not item:"),
        ("self, item", "self, item=None"),
        ("push", "pop"),
        ("class Queue:", "class Queue(list):"),
        ("    return os.sep", "    'text'; return os.sep.upper()"),
        ("        return os.sep", "            return os.sep"),
    ],
)
def test_code_is_semantics(old: str, new: str) -> None:
    assert old in SOURCE
    assert code._module(SOURCE.replace(old, new)) != code._module(SOURCE)


PACKAGE = Path(gpusim.__file__).parent
SIMULATOR = (
    "hardware/tlb/level.py",
    "runs/simulate.py",
    "runs/headline.py",
    "programs/rodinia/nw.py",
)
ONLOOKERS = ("studies/sweep/run.py", "cli/run.py", "views/plots/style.py", "runs/monitor.py")


@pytest.mark.long
def test_a_copy_has_the_same_semantics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "gpusim"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(code, "__file__", str(copy / "studies" / "sweep" / "code.py"))
    assert semantics.__wrapped__() == semantics()


def test_semantics_covers_the_simulator_and_not_its_onlookers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in set(code.ONLOOKERS) - {"data/"}:  # of a wheel
        assert (PACKAGE / name).exists(), f"{name} is no part of gpusim any more"
    copy = tmp_path / "gpusim"  # of a few modules, which are read in no time
    for path in (*SIMULATOR, *ONLOOKERS):
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PACKAGE / path, copy / path)
    monkeypatch.setattr(code, "__file__", str(copy / "studies" / "sweep" / "code.py"))

    def of_copy() -> str:
        return semantics.__wrapped__()

    changed = {copy / path for path in SIMULATOR}
    onlookers = {copy / path for path in ONLOOKERS}
    known = of_copy()
    for path in onlookers:
        with path.open("a") as file:
            file.write("\nMORE = 1\n")
    assert of_copy() == known
    for path in changed:
        with path.open("a") as file:
            file.write("\n# a remark\n")
        assert of_copy() == known
        before = path.read_text()
        path.write_text(before + "\nMORE = 1\n")
        assert of_copy() != known
        path.write_text(before)
    (copy / "hardware" / "tlb" / "more.py").write_text("")
    assert of_copy() != known


# -- the user's own code -------------------------------------------------------------------------

OWN = """
from gpusim.hardware.tlb import SetAssociativeArray

FACTOR = 2


class Own(SetAssociativeArray):
    pass
"""


def test_the_module_of_an_own_policy_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tmp_path / "own_array_of_a_test.py"
    module.write_text(OWN)
    monkeypatch.syspath_prepend(str(tmp_path))
    before = key(tlb__L2__array="own_array_of_a_test:Own")
    assert before == key(tlb__L2__array="own_array_of_a_test:Own") != key()
    module.write_text(OWN.replace("FACTOR = 2", "FACTOR = 34"))
    importlib.reload(sys.modules["own_array_of_a_test"])
    assert key(tlb__L2__array="own_array_of_a_test:Own") != before
    assert key(tlb__L1__array="own_array_of_a_test:Own") != key()


def test_the_module_of_an_own_program_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (
        "from attrs import frozen\nfrom gpusim.programs.catalog import program\n"
        "from gpusim.programs.kernel import Program\n"
        "@frozen\nclass Parameters:\n    words: int = 4\n"
        "@program('own of a test', Parameters)\nclass Own(Program):\n    pass\n"
    )
    module = tmp_path / "own_program_of_a_test.py"
    module.write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "own.toml").write_text(
        "[[applications]]\nprogram = 'own_program_of_a_test:Own'\n[applications.smoke]\n"
    )
    before = key(workload=str(tmp_path / "own.toml"))
    module.write_text(text + "    words = 33\n")
    assert key(workload=str(tmp_path / "own.toml")) != before


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Runs text as a notebook's cell does: in ``__main__``, which has no file."""
    main = sys.modules["__main__"]
    before = dict(vars(main))
    monkeypatch.delattr(main, "__file__", raising=False)
    names: list[str] = []

    def run(text: str) -> None:
        name = f"/tmp/ipykernel_1/{len(names)}.py"
        names.append(name)
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        exec(compile(text, name, "exec"), vars(main))

    yield run
    for name in names:
        linecache.cache.pop(name, None)
    for name in set(vars(main)) - set(before):
        delattr(main, name)


HELPERS = """
import numpy as np
STEP = 3
TABLE = np.arange(4)
def helper(x):
    return x + STEP
def unrelated():
    return 1
"""
CLASS = """
from gpusim.hardware.tlb import SetAssociativeArray

class Base(SetAssociativeArray):
    @property
    def spare(self):
        return 1

class OfNotebook(Base):
    def insert(self, tag, mapping, slot):
        return super().insert(tag, mapping, helper(slot) + int(TABLE[0]))
"""


def key_of_notebook() -> str:
    return key(tlb__L2__array="__main__:OfNotebook")


def test_classes_of_a_notebook_count_with_all_that_they_use(cell: Any) -> None:
    cell(HELPERS)
    cell(CLASS)
    model = load_model("tiny", (), {"tlb.L2.array": "__main__:OfNotebook"})
    sources = own_code(model, load_workload("nw", "smoke"))
    names = {"OfNotebook", "Base", "helper", "STEP", "TABLE"}
    assert set(sources) == {f"__main__.{name}" for name in names}
    assert sources["__main__.OfNotebook"].startswith("class OfNotebook(Base):\n    def insert(")
    assert sources["__main__.STEP"] == "3"

    before = key_of_notebook()
    cell(HELPERS)
    cell(CLASS + "\nother = 5\n")  # cells that run again
    assert key_of_notebook() == before
    changes = [
        CLASS.replace("TABLE[0]", "TABLE[1]"),
        CLASS.replace("return 1", "return 2"),
        CLASS + HELPERS.replace("STEP = 3", "STEP = 4"),
        CLASS + HELPERS.replace("x + STEP", "x - STEP"),
        CLASS + HELPERS.replace("arange(4)", "arange(5)"),
    ]
    found = {before}
    for change in changes:
        cell(HELPERS)
        cell(change)
        found.add(key_of_notebook())
    assert len(found) == 1 + len(changes)
    cell(HELPERS.replace("return 1", "return 2"))
    cell(CLASS)
    assert key_of_notebook() == before


PROGRAM = """
import gpusim
import numpy as np
from attrs import frozen

@frozen
class Size:
    n: int = 64

@gpusim.kernel("reading", registers=8)
def read(k, array):
    k.load(array, k.t)

@gpusim.program("of a notebook", Size)
def reading(memory, parameters, seed):
    yield read[parameters.n](memory.zeros("a", parameters.n, np.float32))
"""


@pytest.mark.long
def test_functions_of_a_notebook_count_with_their_kernels(cell: Any) -> None:
    def sources() -> dict[str, str]:
        workload = load_workload("of a notebook", "smoke")
        return own_code(load_model("tiny"), workload)

    cell(PROGRAM)
    before = sources()
    assert set(before) == {f"__main__.{name}" for name in ("Size", "read", "reading")}
    assert before["__main__.read"].startswith('@gpusim.kernel("reading", registers=8)')
    for old, new in (("k.t)", "0)"), ("n: int = 64", "n: int = 32"), ("float32", "int32")):
        cell(PROGRAM.replace(old, new))
        assert sources() != before
    cell(PROGRAM)
    assert sources() == before


def test_own_code_without_a_source_is_refused(cell: Any) -> None:
    cell(HELPERS + CLASS)
    linecache.cache.clear()
    with pytest.raises(UserError, match=r"cannot find the source of .*OfNotebook"):
        key_of_notebook()


@pytest.mark.long
def test_classes_of_a_script_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "study.py"

    def run(text: str) -> str:
        script.write_text(text)
        return forked_script(script)

    text = HELPERS + CLASS.replace("class OfNotebook", "@policy(Slot.TLB_ARRAY, 'mine')\nclass Own")
    text = (
        "from gpusim.core.registry import Slot, policy\n"
        + text
        + (
            "from gpusim import load_model, load_workload\n"
            "from gpusim.studies.sweep.key import content_key\n"
            "model = load_model('tiny', (), {'tlb.L2.array': 'mine'})\n"
            "print(content_key(model, load_workload('nw', 'smoke')))\n"
        )
    )
    before = run(text)
    assert run(text + "# more\nprint(end='')\n") == before
    assert run(text.replace("STEP = 3", "STEP = 30")) != before


def test_own_policies_by_a_registered_name_are_known_by_their_source() -> None:
    class Registered(SetAssociativeArray):
        pass

    name = "registered in test_key"
    policy(Slot.TLB_ARRAY, name)(Registered)
    try:
        model = load_model("tiny", (), {"tlb.L2.array": name})
        sources = own_code(model, load_workload("nw", "smoke"))
        assert sources == {__name__: Path(__file__).read_text()}
    finally:
        del registry._POLICIES[Slot.TLB_ARRAY][name]
