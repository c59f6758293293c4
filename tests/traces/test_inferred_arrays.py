"""Arrays of a trace that names none: what zero-copy, prefetching and paging need."""

import numpy as np
import pytest

import gpusim
from gpusim.core.warp_program import Buffer
from gpusim.traces.inferred_arrays import arrays_of, without_overlaps
from tests.quick import quick
from tests.traces.writing import EXIT, block, header, write

BASE = 0x7D0000000000
SIZE = 8 * 128 * 1024


def program(folder, copies):
    """8 blocks, each of which loads a line of each of 32 pages of its own."""
    folder.mkdir()
    blocks = [
        block(
            [
                [
                    f"{16 * i:04x} ffffffff 1 R{4 + i} LDG.E 1 R2 4 1 "
                    f"{BASE + 131072 * number + 4096 * i:#x} 4 0"
                    for i in range(32)
                ]
                + [EXIT]
            ],
            f"{number},0,0",
        )
        for number in range(8)
    ]
    write(folder / "kernel-1.traceg", header(grid__dim="(8,1,1)") + "".join(blocks))
    write(folder / "kernelslist.g", f"{copies}kernel-1.traceg\n")
    return str(folder)


def run(workload, variant):
    return gpusim.simulate(gpusim.load_model("kepler-uvm", [variant, "link-pcie-3"]), workload)


@pytest.mark.parametrize(
    "variant", quick(["zero-copy", "access-counters", "demand-paging"], "demand-paging")
)
def test_with_and_without_the_copies_to_the_device(tmp_path, variant):
    told = program(tmp_path / "with", f"MemcpyHtoD,{BASE:#x},{SIZE}\n")
    bare = program(tmp_path / "without", "")
    half = program(tmp_path / "half", f"MemcpyHtoD,{BASE:#x},{SIZE // 2}\n")
    given = gpusim.load_workload(bare, overrides={"arrays": f"{BASE:#x}:{SIZE}"})
    loaded = [given, *(gpusim.load_workload(one) for one in (told, bare, half))]
    results = [run(one, variant) for one in loaded]
    numbers = [
        [one.summary[key] for key in ("cycles", "faults", "fault_batches")] for one in results
    ]
    assert numbers[1:3] == [numbers[0]] * 2
    assert all(one.summary["faults"] == numbers[0][1] for one in results)
    if variant != "demand-paging":
        assert [one[1] for one in numbers] == [0] * 4
    assert [len(one.warnings) for one in results] == [0, 0, 1, 1]
    assert "the trace names no arrays: inferred 1" in results[2].warnings[0]
    assert f"{SIZE} bytes in all" in results[2].warnings[0]
    assert "the trace does not name all arrays: inferred 1" in results[3].warnings[0]


def test_arrays_that_overlap_are_one(tmp_path):
    copies = [(0, 4096), (0, SIZE // 2), (8192, SIZE // 2), (SIZE // 2, SIZE // 2)]
    lines = "".join(f"MemcpyHtoD,{BASE + begin:#x},{size}\n" for begin, size in copies)
    told = gpusim.load_workload(program(tmp_path / "copies", lines))
    bare = program(tmp_path / "bare", "")
    over = {"arrays": f"{BASE:#x}:{SIZE},{BASE + 4096:#x}:4096"}
    given = gpusim.load_workload(bare, overrides=over)
    whole = gpusim.load_workload(bare, overrides={"arrays": f"{BASE:#x}:{SIZE}"})
    cycles = [run(one, "demand-paging").summary["cycles"] for one in (whole, told, given)]
    assert cycles == [cycles[0]] * 3


def test_what_lies_outside_of_given_arrays_is_inferred(tmp_path):
    over = {"arrays": f"{BASE:#x}:{SIZE // 2}"}
    given = gpusim.load_workload(program(tmp_path / "app", ""), overrides=over)
    result = run(given, "demand-paging")
    assert "inferred 1 from what it touches, 524288 bytes in all" in result.warnings[0]
    assert result.summary["fault_batches"] < 10


def test_arrays_apart_stay_as_they_are():
    arrays = (Buffer("b", 8192, 4096), Buffer("a", 0, 4096), Buffer("c", 4096, 4096))
    assert without_overlaps(arrays) == arrays
    assert without_overlaps((Buffer("b", 4096, 8192), Buffer("a", 0, 5000))) == (
        Buffer("a", 0, 12288),
    )


def test_addresses_in_memory():
    addresses = BASE + 4096 * np.arange(64).reshape(8, 8, 1) + 4 * np.arange(32)
    inferred = run(gpusim.workload_of(addresses), "zero-copy")
    assert inferred.summary["faults"] == 0
    assert "inferred 1 from what it touches, 262144 bytes" in inferred.warnings[0]
    given = run(gpusim.workload_of(addresses, arrays=[(BASE, 64 * 4096)]), "zero-copy")
    assert not given.warnings
    assert given.summary["cycles"] == inferred.summary["cycles"]


@pytest.mark.parametrize("variant", ["zero-copy", "access-counters"])
def test_local_memory_is_the_devices_own(tmp_path, variant):
    lines = [
        f"0000 ffffffff 1 R4 LDG.E 1 R2 4 1 {BASE:#x} 4 0",
        "0010 ffffffff 0 STL 2 R1 R4 4 1 0xfffff0 0 0",
        "0020 ffffffff 1 R5 LDL 1 R1 4 1 0xfffff0 0 0",
        EXIT,
    ]
    path = write(tmp_path / "k.traceg", header() + block([lines]))
    result = run(gpusim.load_workload(str(path)), variant)
    assert result.summary["faults"] == 0
    assert "inferred 1 from what it touches, 4096 bytes" in result.warnings[0]


def test_nothing_is_inferred_where_no_page_comes_on_demand():
    addresses = BASE + 4 * np.arange(32).reshape(1, 1, 32)
    assert not gpusim.simulate(gpusim.load_model("tiny"), addresses).warnings


def test_spans():
    pages = np.array([1, 2, 500, 10_000, 10_001])
    assert arrays_of(pages) == (
        Buffer("inferred 0", 4096, 500 * 4096),
        Buffer("inferred 1", 10_000 * 4096, 2 * 4096),
    )
    assert arrays_of(pages[:0]) == ()
