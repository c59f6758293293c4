"""Programs of a script or notebook are workloads by their names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from attrs import define, frozen

import gpusim
from gpusim.core.errors import UserError
from gpusim.core.warp_program import Launch
from gpusim.programs.device import DeviceArray
from gpusim.programs.kernel import Kernel, Program
from gpusim.programs.tracer import BlockTracer, Shape
from tests.whole.running import command


@define(kw_only=True, eq=False)
class Touch(Kernel):
    a: DeviceArray[np.float32]
    name: str = "touch"
    registers_per_thread: int = 8

    def body(self, k: BlockTracer) -> None:
        k.load(self.a, k.t)
        k.wait(0)


@frozen
class Parameters:
    n: int = 256


@gpusim.program("touching_all", Parameters)
class TouchAll(Program):
    def __init__(self, parameters: Parameters, seed: int) -> None:
        super().__init__("touching_all")
        self.a = self.memory.allocate("a", np.zeros(parameters.n, np.float32))

    def launches(self) -> Iterator[Launch]:
        yield Touch(shape=Shape.linear(self.a.length, 64), a=self.a)


def make_half(parameters: Parameters, seed: int) -> TouchAll:
    return TouchAll(Parameters(parameters.n // 2), seed)


gpusim.program("half_of_it", Parameters)(make_half)


def test_it_is_found_by_name_class_and_function() -> None:
    tiny = gpusim.load_model("tiny")
    by_name, by_class = (gpusim.simulate(tiny, which) for which in ("touching_all", TouchAll))
    assert by_name.digest == by_class.digest
    assert by_name.summary["memory_instructions"] == 8
    assert by_name.provenance.workload == "touching_all"
    assert gpusim.simulate("tiny", "touching_all").digest == by_name.digest, "a model by its name"
    assert gpusim.simulate(tiny, make_half).summary["memory_instructions"] == 4
    small = gpusim.load_workload("touching_all", overrides={"n": 64})
    assert gpusim.simulate(tiny, small).summary["memory_instructions"] == 2


@pytest.mark.long
def test_a_sweep_names_it(tmp_path: Path) -> None:
    sweep = gpusim.Sweep(
        models="tiny", workloads="touching_all", scale="smoke", set={"workload.n": [64, 128]}
    )
    table = gpusim.run_sweep(sweep, tmp_path / "runs", jobs=1).table
    assert table.memory_instructions.tolist() == [2, 4]


def test_from_a_shell_by_its_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = Path(__file__).read_text().partition("\ndef make_half")[0]
    (tmp_path / "of_a_shell.py").write_text(source.replace("touching_all", "touching_shell"))
    monkeypatch.syspath_prepend(str(tmp_path))
    options = ("--scale", "smoke", "--set", "workload.n=64")
    text = command("run", "tiny", "of_a_shell:TouchAll", *options).stdout
    assert "touching_shell · smoke" in text


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("touching_al", "no workload named 'touching_al'; did you mean 'touching_all'?; allowed: "),
        (
            "absent:Program",
            "cannot load the program 'absent:Program': there is no absent.py in ",
        ),
        (Touch, "Touch is no program: mark it with @gpusim.program('touch', PARAMETERS)"),
    ],
)
def test_errors(what: object, message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        gpusim.load_workload(what)
    with pytest.raises(UserError, match=re.escape(message)):
        gpusim.simulate(gpusim.load_model("tiny"), what)


def test_an_unknown_parameter_is_named() -> None:
    with pytest.raises(UserError, match=r"unknown parameter; allowed: n, sample"):
        gpusim.load_workload("touching_all", overrides={"m": 3})
    with pytest.raises(UserError, match=r"overrides: n = 'x'"):
        gpusim.load_workload("touching_all", overrides={"n": "x"})
