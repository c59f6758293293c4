"""Launches of a capture: results in the arrays, and a program for the machine."""

import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

import gpusim
from gpusim.core.errors import UserError
from gpusim.ptx.capture import Upload
from tests import ROOT
from tests.ptx.tracing import accesses, calls, load


def graph(vertices=500):
    rng = np.random.default_rng(3)
    degree = rng.integers(0, 6, vertices)
    row = np.concatenate(([0], np.cumsum(degree))).astype(np.int32)
    return row, rng.integers(0, vertices, row[-1]).astype(np.int32)


def search(row, col):
    """Breadth-first search by the kernel, level by level; the host looks at a flag."""
    vertices = len(row) - 1
    kernel = load("bfs")
    level = np.full(vertices, -1, np.int32)
    level[0] = 0
    following, over = level.copy(), np.zeros(1, np.int32)
    with gpusim.capture("search") as captured:
        depth = 0
        while depth == 0 or over[0]:
            over[0] = 0
            kernel.launch(
                -(-vertices // 128), 128, row, col, level, following, over, depth, vertices
            )
            level[:] = following
            depth += 1
    return captured, level


def levels(row, col):
    """The same in Python."""
    found = {0: 0}
    left = [0]
    while left:
        now = left.pop(0)
        for other in col[row[now] : row[now + 1]].tolist():
            if other not in found:
                found[other] = found[now] + 1
                left.append(other)
    return [found.get(vertex, -1) for vertex in range(len(row) - 1)]


def test_a_loop_of_the_host_gives_the_levels_of_a_graph():
    row, col = graph()
    captured, level = search(row, col)
    assert level.tolist() == levels(row, col)
    assert len(calls(captured)) == level.max() + 1  # the last one finds nothing new
    changed = {
        captured.memory.arrays[one.array].name for one in captured.steps if isinstance(one, Upload)
    }
    assert changed == {"bfs_param_2", "bfs_param_4"}  # what the host stores between launches


def test_a_run_does_the_same_again_from_the_first_arrays():
    captured, _ = search(*graph())
    result = gpusim.simulate("tiny", captured)
    again = gpusim.simulate("tiny", captured)
    assert result.digest == again.digest
    assert result.summary["memory_instructions"] > 0
    application = captured.application()
    memory = None
    for launch in application.launches():
        memory = launch.site.memory
        for block in range(launch.blocks):
            for _ in launch.run_block(block, 32):
                pass
    assert memory is not None
    following = next(one for one in memory.arrays if one.name == "bfs_param_3")
    # values that no address depends on are not computed: only what the host put there is
    assert following.data.view(np.int32)[0] == 0
    assert any("registers of a thread are estimated" in one for one in application.notices)


def test_products_of_matrices_are_numpys():
    rng = np.random.default_rng(1)
    a, b = (rng.random((64, 64), dtype=np.float32) for _ in "ab")
    c = np.zeros((64, 64), np.float32)
    load("matmul").launch((4, 4), (16, 16), a, b, c, 64)
    assert np.allclose(c, a @ b, rtol=1e-5)


def test_of_a_product_of_matrices_the_slice_is_a_small_part():
    kernel = load("matmul").kernel
    body = [one for block in kernel.flow for one in block.instructions]
    chosen = kernel.slice().executed
    assert not any(one.opcode == "fma" for one in chosen)
    assert not any(one.opcode in {"ld", "st"} and not one.has("param") for one in chosen)
    assert len(chosen) < len(body) / 2


def test_sums_histograms_and_compaction_are_numpys():
    rng = np.random.default_rng(2)
    values = rng.random((3000, 4), dtype=np.float32)
    total = np.zeros(1, np.float32)
    load("reduce:total").launch(4, 128, values, total, 3000, shared=16)
    assert np.isclose(total[0], values.sum(), rtol=1e-5)
    letters, bins = rng.integers(0, 256, 3000).astype(np.uint8), np.zeros(256, np.uint32)
    load("reduce:histogram").launch(12, 256, letters, bins, 3000)
    assert bins.tolist() == np.bincount(letters, minlength=256).tolist()
    numbers = rng.integers(0, 1000, 3000).astype(np.int32)
    kept, count = np.zeros(3000, np.int32), np.zeros(1, np.int32)
    load("reduce:compact").launch(12, 256, numbers, kept, count, 3000)
    assert sorted(kept[: count[0]].tolist()) == sorted(numbers[numbers % 3 == 0].tolist())


def test_functions_structures_and_local_memory():
    values = (np.random.default_rng(4).random(100, dtype=np.float32) * 1e6).astype(np.float32)
    out = np.zeros(96)
    load("reduce:spectrum").launch(3, 32, (values, np.int32(100)), out)
    expected = []
    for t in range(96):
        own = [values[(7 * t + i) % 100] for i in range(8)]
        wave = np.float32(0)
        for i in range(t % 5):
            wave += np.float32(np.sin(np.float64(own[t % 8] * np.float32(i))))
        expected.append(np.sqrt(float(wave) ** 2 + float(own[3 * t % 8])) / (t + 1))
    assert np.allclose(out, expected, rtol=1e-5)


def test_parts_of_an_array_are_one_array():
    whole = np.arange(64, dtype=np.float32)
    with gpusim.capture() as captured:
        load("scale").launch(1, 32, whole[:32], whole[32:], 3.0, 32)
    assert whole[32:].tolist() == [3.0 * t for t in range(32)]
    assert [one[1:3] for one in accesses(captured)] == [
        ("_Z5scalePKfPffi_param_0", [4 * t for t in range(32)]),
        ("_Z5scalePKfPffi_param_0", [4 * t + 128 for t in range(32)]),
    ]


def test_a_launch_that_is_not_executed_leaves_the_arrays_alone():
    x, y = np.ones(32, np.float32), np.zeros(32, np.float32)
    with gpusim.capture() as captured:
        load("scale").launch(1, 32, x, y, 3.0, 32, execute=False)
    assert not y.any()
    assert len(accesses(captured)) == 2


@pytest.mark.long
def test_the_examples_of_the_docs_run(tmp_path, monkeypatch):
    page = (ROOT / "docs" / "kernels.md").read_text(encoding="utf-8")
    example = "\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL))
    shutil.copy(ROOT / "docs" / "examples" / "gather.ptx", tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", example], cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, check=False,
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


X = np.ones(32, np.float32)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1, 32, X, X, 1.0), "there is no argument .*param_3"),
        ((1, 32, X, X, 1.0, 2, 3), "takes 4 arguments .* not 5"),
        ((1, 2048, X, X, 1.0, 1), "2048 threads of a block; at most 1024"),
        ((0, 32, X, X, 1.0, 1), "grid = 0: must be a number from 1 on"),
        ((1, 32, X, X, 1.0, "n"), "'n' is no .u32"),
        ((1, 32, X, X, 1.0, 1 << 40), "is no .u32"),
        ((1, 32, np.ones((4, 4))[:, ::2], X, 1.0, 1), "must lie one after the other"),
        ((1, 32, X.astype(object), X, 1.0, 1), "an array of Python's objects"),
        ((1, 32, X, X, 1.0, X), "an array, whose address has 8 bytes, for a parameter of 4"),
        ((1 << 31, 32, X, X, 1.0, 1), "blocks along x; at most 2147483647 are allowed"),
        (((1, 1 << 16), 32, X, X, 1.0, 1), "65536 blocks along y; at most 65535 are allowed"),
    ],
)
def test_wrong_arguments_are_errors(arguments, message):
    with pytest.raises(UserError, match=message):
        load("scale").launch(*arguments)


def test_shared_memory_that_no_block_has():
    for given in (-1, 1 << 40):
        with pytest.raises(UserError, match="bytes of shared memory; at most"):
            load("scale").launch(1, 32, X, X, 1.0, 1, shared=given)


def test_a_wrong_name_of_an_argument_is_an_error():
    with pytest.raises(UserError, match="no argument 'size'"):
        load("scale").launch(1, 32, X, X, 1.0, size=1)


def test_accesses_outside_of_arrays_name_the_line():
    with pytest.raises(
        UserError, match=r"scale\.ptx:\d+: ld\.global\.f32 \(scale\.cu:3\): 4 bytes"
    ):
        load("scale").launch(1, 64, X.copy(), np.zeros(64, np.float32), 1.0, 64)
    bytes_ = np.zeros(129, np.uint8)
    with pytest.raises(UserError, match="is no multiple of 4 bytes"):
        load("scale").launch(1, 32, bytes_[1:], X.copy(), 1.0, 32)
    frozen = np.zeros(32, np.float32)
    frozen.flags.writeable = False
    with pytest.raises(UserError, match="read-only"):
        load("scale").launch(1, 32, X, frozen, 1.0, 32)


def test_nothing_launched_is_an_error():
    with gpusim.capture() as captured:
        pass
    with pytest.raises(UserError, match="nothing was launched"):
        gpusim.simulate("tiny", captured)
