"""Programs as generator functions: start, results, and what a mistake in one says."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attrs import asdict, frozen

import gpusim
from gpusim.core.errors import UserError
from gpusim.programs.catalog import program_of
from gpusim.programs.graphs.generators import Grid
from gpusim.programs.writing import (
    AddressSpace,
    BlockTracer,
    Floats,
    Graph,
    Launch,
    kernel,
    number,
    program,
)
from tests.programs.drain import drain
from tests.whole.running import command


@frozen
class Parameters:
    n: int = 256
    rounds: int = 2


@kernel("double", registers=8, block=64)
def double(k: BlockTracer, array: Floats) -> None:
    value = k.load(array, k.t)
    k.wait(0)
    k.store(array, k.t, value + value)


@program("doubling", Parameters)
def doubling(memory: AddressSpace, parameters: Parameters, seed: int) -> Iterator[Launch]:
    array = memory.allocate("a", np.full(parameters.n, seed, np.float32))
    for _ in range(parameters.rounds):
        yield double[parameters.n](array)


def test_start_after_start_is_a_fresh_run() -> None:
    for _ in range(2):
        application = program_of(doubling).start(Parameters(), None, 3)
        assert [buffer.bytes for buffer in application.buffers] == [1024]
        assert application.memory["a"].data.tolist() == [3] * 256
        assert drain(application) == ["double", "double"]
        assert application.memory["a"].data.tolist() == [12] * 256


def test_launches_are_asked_for_once() -> None:
    application = program_of(doubling).start(Parameters(), None, 3)
    application.launches()
    with pytest.raises(UserError, match="program 'doubling' has been run: start it anew"):
        application.launches()


def test_it_is_found_by_name_and_function() -> None:
    tiny = gpusim.load_model("tiny")
    by_name, by_function = (gpusim.simulate(tiny, which) for which in ("doubling", doubling))
    assert by_name.digest == by_function.digest
    assert by_name.summary["memory_instructions"] == 2 * 2 * 8
    assert by_name.provenance.workload == "doubling"
    small = gpusim.load_workload("doubling", overrides={"n": 64})
    assert gpusim.simulate(tiny, small).summary["memory_instructions"] == 2 * 2 * 2
    sampled = gpusim.load_workload("doubling", overrides={"sample": 4})
    assert gpusim.simulate(tiny, sampled).summary["memory_instructions"] == 2 * 2 * 2


def test_two_of_it_share_a_gpu_and_start_again(tmp_path: Path) -> None:
    path = tmp_path / "both.toml"
    path.write_text(
        'relaunch = "until-all-have-run"\n'
        '[[applications]]\nname = "short"\nprogram = "doubling"\nsmoke.rounds = 1\n'
        '[[applications]]\nname = "long"\nprogram = "doubling"\nsmoke.rounds = 20\n'
    )
    result = gpusim.simulate("tiny", gpusim.load_workload(str(path), scale="smoke"))
    assert result.launches.groupby("app").size().to_dict() == {"short": 1, "long": 20}


@pytest.mark.long
def test_a_sweep_in_other_processes_names_it(tmp_path: Path) -> None:
    sweep = gpusim.Sweep(
        models="tiny", workloads="doubling", scale="smoke", set={"workload.n": [64, 128]}
    )
    table = gpusim.run_sweep(sweep, tmp_path / "runs", jobs=1).table
    assert table.memory_instructions.tolist() == [8, 16]


def test_from_a_shell_by_its_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = Path(__file__).read_text().partition("\ndef test_start")[0]
    (tmp_path / "doubling_shell.py").write_text(source.replace('"doubling"', '"of_a_shell"'))
    monkeypatch.syspath_prepend(str(tmp_path))
    options = ("--scale", "smoke", "--set", "workload.n=64")
    text = command("run", "tiny", "doubling_shell:doubling", *options).stdout
    assert "of_a_shell · smoke" in text


def test_a_cell_that_is_run_again_replaces_it() -> None:
    again = program("doubling", Parameters)(doubling)
    assert again is doubling

    def other(memory: AddressSpace, parameters: Parameters, seed: int) -> Iterator[Launch]:
        yield double[32](memory.zeros("a", 32, np.float32))

    with pytest.raises(ValueError, match="there is already a program named 'doubling'"):
        program("doubling", Parameters)(other)


@program("tripling")
def tripling(
    memory: AddressSpace, seed: int, n: int = number(192, 64, multiple=64), rounds: int = 2
) -> Iterator[Launch]:
    array = memory.allocate("a", np.full(n, seed, np.float32))
    for _ in range(rounds):
        yield double[n](array)


@pytest.mark.usefixtures("forked_workers")
def test_parameters_are_those_of_the_function(tmp_path: Path) -> None:
    kind = program_of(tripling)
    assert not kind.uses_graph
    assert asdict(kind.parameters()) == {"n": 192, "rounds": 2}
    assert pickle.loads(pickle.dumps(kind.parameters(n=64))) == kind.parameters(n=64)
    workload = gpusim.load_workload("tripling", overrides={"n": 128, "rounds": 1})
    result = gpusim.simulate("tiny", workload)
    assert result.summary["memory_instructions"] == 2 * 4
    sweep = gpusim.Sweep(models="tiny", workloads="tripling", set={"workload.n": [64, 128]})
    table = gpusim.run_sweep(sweep, tmp_path / "runs", jobs=1).table
    assert table.memory_instructions.tolist() == [8, 16]


def test_a_graph_is_an_argument_of_that_name() -> None:
    def of_a_graph(memory: AddressSpace, graph: Graph, _seed: int, k: int = 3) -> Iterator[Launch]:
        yield double[64](memory.zeros("a", 64 * k, np.float32))

    program("of a graph")(of_a_graph)
    kind = program_of(of_a_graph)
    assert kind.uses_graph
    application = kind.start(kind.parameters(k=2), Grid(4, 4).generate(0), 0)
    assert application.memory["a"].length == 128


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n": 32}, "overrides: n = 32: 'n' must be >= 64: 32"),
        ({"n": 96}, "overrides: n = 96: 'n' must be a multiple of 64: 96"),
        ({"m": 64}, "overrides: m: unknown parameter; allowed: n, rounds, sample"),
        ({"n": "many"}, "overrides: n = 'many': must be a whole number"),
    ],
)
def test_a_parameter_that_does_not_fit(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        gpusim.load_workload("tripling", overrides=parameters)


def test_a_parameter_has_a_default() -> None:
    def endless(memory: AddressSpace, seed: int, n: int) -> Iterator[Launch]:
        yield double[64](memory.zeros("a", n, np.float32))

    message = "program 'endless': its parameter 'n' has no default: write n: int = 1024"
    with pytest.raises(UserError, match=re.escape(message)):
        program("endless")(endless)


def test_a_class_needs_a_class_of_parameters() -> None:
    with pytest.raises(UserError, match="'late' is no generator function: name the class of its"):
        program("late")(no_program)


def started(function: Any) -> list[str]:
    """Names of the launches of a program that is not registered for long."""
    name = f"mistaken {function.__name__}"
    program(name, Parameters)(function)
    return drain(program_of(function).start(Parameters(), None, 0))


def nothing(memory: AddressSpace, parameters: Parameters, seed: int) -> Iterator[Launch]:
    memory.zeros("a", 64, np.float32)
    yield from ()


def without_array(memory: AddressSpace, parameters: Parameters, seed: int) -> Iterator[Launch]:
    yield double[64](AddressSpace().zeros("a", 64, np.float32))


def late_array(memory: AddressSpace, parameters: Parameters, seed: int) -> Iterator[Launch]:
    yield double[64](memory.zeros("a", 64, np.float32))
    yield double[64](memory.zeros("b", 64, np.float32))


def no_launch(memory: AddressSpace, parameters: Parameters, seed: int) -> Iterator[Any]:
    memory.zeros("a", 64, np.float32)
    yield 3


def not_launched(memory: AddressSpace, parameters: Parameters, seed: int) -> Iterator[Any]:
    yield double[64](memory.zeros("a", 64, np.float32))
    yield double


def no_program(parameters: Parameters, seed: int) -> int:
    return 3


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (nothing, "program 'mistaken nothing' yields no launch: write yield kernel[threads](...)"),
        (without_array, "'mistaken without_array' has no array: place one in its memory before"),
        (late_array, "'mistaken late_array' places the array 'b' after its first launch"),
        (no_launch, "'mistaken no_launch' yields 3, which is no launch: write yield kernel["),
        (not_launched, "program 'mistaken not_launched' yields KernelFunction("),
        (no_program, "program 'mistaken no_program' makes 3: it must be a Program, or a generator"),
    ],
)
def test_mistakes_name_the_program(function: Any, message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        started(function)


def test_a_function_takes_what_a_program_is_given() -> None:
    def short(memory: AddressSpace, seed: int) -> Iterator[Launch]:
        yield double[64](memory.zeros("a", 64, np.float32))

    message = "program 'short': too many positional arguments; its function takes memory, "
    with pytest.raises(UserError, match=re.escape(message + "parameters, seed")):
        program("short", Parameters)(short)


def test_a_function_that_only_launches_is_no_program() -> None:
    def forgetful(memory: AddressSpace, parameters: Parameters, seed: int) -> None:
        double[64](memory.zeros("a", 64, np.float32))

    with pytest.raises(UserError, match=re.escape("program 'forgetful' takes its memory, but y")):
        program("forgetful", Parameters)(forgetful)


def test_an_unknown_array_is_named() -> None:
    application = program_of(doubling).start(Parameters(), None, 3)
    with pytest.raises(UserError, match=re.escape("there is no array 'b'; allowed: a")):
        application.memory["b"]


def test_an_error_in_it_names_its_file(tmp_path: Path) -> None:
    def failing(memory: AddressSpace, parameters: Parameters, seed: int) -> Iterator[Launch]:
        yield double[64](memory.zeros("a", 64, np.float32))
        raise ValueError("after one launch")

    program("failing after a launch", Parameters)(failing)
    with pytest.raises(
        UserError, match=r"test_program_function\.py.*failing: ValueError: after one"
    ):
        gpusim.simulate("tiny", failing)
