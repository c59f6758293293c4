"""Recorded requests to DRAM as traces of other simulators."""

import re

import numpy as np
import pytest

import gpusim
from gpusim.core.errors import UserError
from gpusim.results.export import default_place, export
from gpusim.traces.open_trace import open_trace
from tests.traces.writing import operations

BASE = 1 << 32


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Eight loads of 128 bytes each, from eight pages."""
    path = tmp_path_factory.mktemp("run") / "r.h5"
    steps = BASE + 4096 * np.arange(8).reshape(1, 8, 1) + 4 * np.arange(32)
    gpusim.simulate("tiny", steps, output=path, record=["dram"]).close()
    return path


def test_addresses_are_recorded(recorded):
    with gpusim.open_result(recorded) as result:
        table = result.table("dram")
        line = int(re.search(r"^line = \"?(\d+)", result.config_toml, re.MULTILINE)[1])
        data = table[table.depth == 0]
        assert len(data) == 8 * 128 // line
        assert (data.address % line == 0).all()
        assert data.address.nunique() == len(data)
        assert (data.sectors == (1 << line // 32) - 1).all()


@pytest.mark.parametrize("to", ["ramulator", "ramulator2", "dramsim3"])
def test_what_is_written_is_read_again(recorded, tmp_path, to):
    place = tmp_path / default_place(recorded, to).name
    assert place.name == f"r.{to}.trace"
    assert export(recorded, to, place) == [place]
    with gpusim.open_result(recorded) as result:
        table = result.table("dram").sort_values("accepted", kind="stable")
    expected = [
        block
        for address, sectors in zip(table.address, table.sectors, strict=True)
        for block in range(
            int(address) // 64 * 64, int(address) + 32 * int(sectors).bit_length(), 64
        )
    ]
    (launch,) = open_trace(place).applications[0].start().launches()
    (warp,) = operations(launch)
    assert [min(one for one in lanes if one >= 0) for op, _, lanes in warp] == expected
    lines = place.read_text().splitlines()
    pattern = {"ramulator": r"0x\w+ R", "ramulator2": r"LD 0x\w+", "dramsim3": r"0x\w+ READ \d+"}[
        to
    ]
    assert all(re.fullmatch(pattern, line) for line in lines)
    if to == "dramsim3":
        cycles = [int(line.split()[2]) for line in lines]
        assert cycles == sorted(cycles)


def test_without_the_record(tmp_path):
    path = tmp_path / "r.h5"
    gpusim.simulate("tiny", BASE + 4 * np.arange(32).reshape(1, 1, 32), output=path).close()
    with pytest.raises(UserError, match="run it with record = dram"):
        export(path, "ramulator", tmp_path / "t")
