"""Kernels that were measured on an H100 do on the model what the hardware counted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments.hardware.held_back import HELD_BACK
from experiments.hardware.kernels import inputs, irregular, published
from experiments.hardware.measure import model_of
from experiments.hardware.published import KERNELS as PUBLISHED_KERNELS
from experiments.hardware.published import PUBLISHED, beside_published
from experiments.hardware.real_kernels import KERNELS, beside_measured, run_kernel
from gpusim.core.errors import UserError
from gpusim.programs import writing as gpu
from gpusim.runs.simulate import simulate
from gpusim.workloads.workload import load_workload
from tests.quick import quick

TABLES = Path(__file__).parents[2] / "docs" / "tables" / "h100"


@pytest.mark.parametrize(
    ("kernel", "n"), quick([("empty", 132), ("vector_add", 64 << 10)], ("empty", 132))
)
def test_a_kernel_does_what_was_counted(kernel: str, n: int) -> None:
    ran = run_kernel(kernel, n)
    row = beside_measured({(kernel, n): ran}, TABLES).iloc[0]
    assert row["instructions"] == pytest.approx(1, abs=0.02)
    if kernel != "empty":
        assert row["DRAM bytes"] == pytest.approx(1, abs=0.02)


@pytest.mark.long
def test_an_empty_kernel_takes_the_launch_that_was_measured() -> None:
    table = pd.read_csv(TABLES / "kernels_other_cards.csv").set_index(["kernel", "size"])
    measured = table.loc[("empty", 1)]
    assert run_kernel("empty", 1).cycles == pytest.approx(measured["cycles_first_card"], abs=5)


def test_every_kernel_of_the_table_was_measured() -> None:
    tables = [pd.read_csv(TABLES / name) for name in ("kernels.csv", "held_back.csv")]
    table = pd.concat(tables).set_index(["kernel", "size"]).index
    assert all((name, n) in table for name, (_, sizes) in KERNELS.items() for n in sizes)


def test_what_was_held_back_was_simulated_before_it_was_measured() -> None:
    simulated = pd.read_csv(TABLES / "held_back_simulated.csv")
    found = set(zip(simulated["kernel"], simulated["size"], strict=True))
    assert found == {(name, n) for name, (_, sizes) in HELD_BACK.items() for n in sizes}


@pytest.mark.parametrize(
    ("make", "entries"),
    [(inputs.banded, 1048576), (inputs.power_law, 1500000), (inputs.random_graph, 524288)],
)
def test_inputs_are_sparse_matrices(make: Callable[[int], inputs.Csr], entries: int) -> None:
    n = 1 << 16
    csr = make(n)
    assert csr.row[-1] == len(csr.column)
    assert len(csr.column) == pytest.approx(entries, rel=0.1)
    assert 0 <= csr.column.min() <= csr.column.max() < n


def test_levels_are_those_of_a_search() -> None:
    graph = inputs.random_graph(1 << 12)
    found = inputs.levels(graph, 3)
    assert found[0] == 0
    assert found.max() == 3
    for vertex in np.flatnonzero(found == 3):
        (sources,) = np.nonzero(graph.column == vertex)
        assert 2 in found[sources // 8]


def test_published_rates_are_of_kernels_and_models_that_are_there() -> None:
    rates = {(one.model, one.ours): (2 * one.rate, "") for one in PUBLISHED}
    table = beside_published(rates)
    assert (table["time"] == 0.5).all()
    assert set(table["model"]) == {"v100", "a100"}
    ours = {one.ours for one in PUBLISHED}
    assert ours >= set(PUBLISHED_KERNELS)
    assert all(name.startswith("stream-") for name in ours.difference(PUBLISHED_KERNELS))


def test_a_store_across_writes_a_part_of_many_sectors() -> None:
    """Half a row of 16 words a lane: eight bytes of 16 sectors a store, and whole rows of loads."""
    memory = gpu.AddressSpace()
    a, b = (memory.blank(name, 64 * 64, np.float32) for name in "ab")
    launch = published.transpose_16[(4, 4), (16, 16)](a, b, 64, by_column=False)
    (chunk,) = launch.run_block(0, 32)
    sectors = [len(np.unique(lanes // 32)) for lanes in chunk.address[:, 0]]
    assert sectors == [4, 16]


def test_a_folder_without_the_table_is_said_to_be_one(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"):
        beside_measured({}, tmp_path)


ROUNDS, LAUNCH = 4, 4278
VARIANT = "{} KiB, 132 SMs of 8 warps, loads by the L1 cache, stores to the same word"
UNIT = "cycles a round"


@gpu.program("mixture_of_loads_and_stores")
def mixture_of(
    memory: gpu.AddressSpace, _seed: int, kib: int = 64, percent: int = 0
) -> gpu.Launches:
    """All SMs, 8 warps each, in one array that is in the L2 cache."""
    array = memory.blank("array", kib * 256, np.uint32)
    yield irregular.mixture[132, 1024](array, 0, 1)
    yield irregular.mixture[132, 256](array, percent, ROUNDS)


@pytest.mark.long
@pytest.mark.parametrize(("kib", "percent"), [(64, 0), (64, 100), (256, 100)])
def test_loads_among_stores_take_what_was_measured(kib: int, percent: int) -> None:
    table = pd.read_csv(TABLES / "stores.csv")
    measured = table[
        (table["variant"] == VARIANT.format(kib))
        & (table["x"] == percent)
        & (table["unit"] == UNIT)
    ]["median"].item()
    workload = load_workload(mixture_of, overrides={"kib": kib, "percent": percent})
    with simulate(model_of("h100"), workload) as result:
        launch = result.launches.iloc[-1]
        cycles = (launch["end"] - launch["begin"] - LAUNCH) / ROUNDS
    assert cycles == pytest.approx(measured, rel=0.25)
