"""gpusim's own traces: a run of the recording is the run of the workload, to the last digit."""

import h5py
import numpy as np
import pytest

from gpusim import load_model, load_workload, simulate
from gpusim.core.errors import UserError
from gpusim.core.warp_program import MEMORY_OPS, Op
from gpusim.traces.open_trace import open_trace
from gpusim.traces.recorded import open_recorded
from gpusim.traces.recorder import record_trace
from gpusim.workloads.workload import Workload
from tests.quick import quick
from tests.traces.writing import EXIT, block, header, write
from tests.whole.running import SMALLER

BASE = 0x7F1000000000


def same_array(one, other):
    return one.dtype == other.dtype and np.array_equal(one, other)


@pytest.mark.parametrize(
    ("name", "seed"), quick([("atax", 0), ("bfs", 5), ("fw_block", 0)], ("bfs", 5))
)
def test_a_recording_runs_like_its_workload(tmp_path, name, seed):
    workload = load_workload(name, "smoke", seed, SMALLER.get(name, {}))
    path = tmp_path / "trace.h5"
    record_trace(workload, path)
    assert list(tmp_path.iterdir()) == [path]
    model = load_model("tiny")
    with simulate(model, workload) as run, simulate(model, load_workload(str(path))) as again:
        assert again.digest == run.digest


def test_applications_keep_their_names_shares_and_arrays(tmp_path):
    one, other = load_workload("atax", "smoke", 0), load_workload("mvt", "smoke", 0)
    specs = []
    for spec, share in ((one.applications[0], 0.25), (other.applications[0], None)):
        specs.append(type(spec)(spec.name, spec.start, share, spec.instance))
    path = tmp_path / "pair.h5"
    record_trace(Workload("pair", "smoke", 7, tuple(specs), True), path)
    trace = open_trace(path)
    assert (trace.format, trace.name, trace.scale, trace.seed) == (
        "gpusim trace",
        "pair",
        "smoke",
        7,
    )
    assert trace.relaunch
    assert [(one.name, one.share, one.instance) for one in trace.applications] == [
        ("atax", 0.25, None),
        ("mvt", None, None),
    ]
    for spec, application in zip(specs, trace.applications, strict=True):
        assert application.buffers == spec.start().buffers


def test_chunks_come_back_whole_and_in_any_order(tmp_path):
    workload = load_workload("bfs", "smoke", 2)
    path = tmp_path / "trace.h5"
    record_trace(workload, path)
    original = workload.applications[0].start().launches()
    recorded = open_trace(path).applications[0].start().launches()
    compared = 0
    for expected, found in zip(original, recorded, strict=True):
        assert (found.name, found.blocks) == (expected.name, expected.blocks)
        assert found.registers_per_thread == expected.registers_per_thread
        assert found.shared_bytes == expected.shared_bytes
        kept = [list(expected.run_block(number, 32)) for number in range(expected.blocks)]
        for number in reversed(range(expected.blocks)):
            for one, other in zip(kept[number], found.run_block(number, 32), strict=True):
                for field in ("kind", "arg", "active", "address", "size"):
                    assert same_array(getattr(one, field), getattr(other, field)), field
                compared += 1
    assert compared > 4


def test_an_imported_trace_runs_like_the_original(tmp_path):
    lines = [
        f"0010 ffffffff 1 R4 LDG.E.128 1 R2 16 1 {BASE:#x} 4096 0",
        "0020 ffffffff 1 R5 IADD 2 R4 R4 0 0",
        f"0030 0000ffff 0 STG.E 2 R2 R5 4 1 {BASE + 2:#x} 12 0",
        EXIT,
    ]
    write(
        tmp_path / "toy.traceg",
        header(grid__dim="(3,1,1)", block__dim="(64,1,1)")
        + "".join(block([lines, lines[1:]], f"{number},0,0") for number in range(3)),
    )
    trace = open_trace(tmp_path / "toy.traceg")
    record_trace(trace, tmp_path / "toy.h5", trace.warp_size)
    model = load_model("tiny")
    with (
        simulate(model, load_workload(str(tmp_path / "toy.traceg"))) as run,
        simulate(model, load_workload(str(tmp_path / "toy.h5"))) as again,
    ):
        assert again.digest == run.digest
        assert run.summary["memory_instructions"] == 3 * 3


@pytest.mark.parametrize("warp_size", quick([16, 64], 16))
def test_another_warp_size(tmp_path, warp_size):
    workload = load_workload("bfs", "smoke", 1, SMALLER["bfs"])
    path = tmp_path / "trace.h5"
    record_trace(workload, path, warp_size=warp_size)
    assert open_trace(path).warp_size == warp_size
    model = load_model("tiny")
    with simulate(model, workload) as run, simulate(model, load_workload(str(path))) as again:
        for name in ("transactions", "memory_instructions"):
            assert again.summary[name] == run.summary[name]
        assert warp_size > 32 or again.digest == run.digest
        assert "threads are" in again.warnings[-1]


def test_nothing_is_left_of_a_recording_that_fails(tmp_path):
    trace = open_trace(write(tmp_path / "k.traceg", header() + block([["0010 zz"]])))
    path = tmp_path / "out.h5"
    path.write_bytes(b"older")
    with pytest.raises(UserError, match=r"k\.traceg:\d+"):
        record_trace(trace, path)
    assert path.read_bytes() == b"older"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["k.traceg", "out.h5"]


@pytest.fixture
def recording(tmp_path):
    path = tmp_path / "trace.h5"
    record_trace(load_workload("atax", "smoke", 0), path)
    return path


def read_all(path):
    for application in open_trace(path).applications:
        for launch in application.start().launches():
            for number in range(launch.blocks):
                list(launch.run_block(number, 32))


def test_a_file_cut_short(recording):
    data = recording.read_bytes()
    recording.write_bytes(data[: len(data) // 2])
    with pytest.raises(UserError, match=r"trace\.h5 is no HDF5 file, damaged or cut short"):
        read_all(recording)


def test_a_flipped_byte_in_the_addresses(recording):
    with h5py.File(recording) as file:
        place = file["addresses/lane"].id.get_chunk_info(0).byte_offset
    data = bytearray(recording.read_bytes())
    data[place + 20] ^= 1
    recording.write_bytes(data)
    with pytest.raises(UserError, match=r"trace\.h5 is damaged"):
        read_all(recording)


@pytest.mark.parametrize("place", ["launches", "chunks/access", "instructions/kind"])
def test_a_missing_part(recording, place):
    with h5py.File(recording, "a") as file:
        del file[place]
    with pytest.raises(UserError, match=r"trace\.h5 is damaged"):
        read_all(recording)


@pytest.mark.parametrize(("column", "kind"), [("launches/blocks", "f4"), ("launches/name", "?")])
def test_columns_of_other_values(recording, column, kind):
    with h5py.File(recording, "a") as file:
        count = len(file[column])
        del file[column]
        file[column] = np.ones(count, dtype=kind)
    with pytest.raises(UserError, match=r"trace\.h5 .* has other values"):
        open_trace(recording)


def test_an_index_that_does_not_fit(recording):
    with h5py.File(recording, "a") as file:
        file["chunks/access"][1] += 1
    with pytest.raises(UserError, match=r"trace\.h5 is damaged"):
        read_all(recording)


def test_other_hdf5_files(recording):
    with h5py.File(recording, "a") as file:
        file.attrs["schema"] = 99
    with pytest.raises(UserError, match=r"has schema 99, .* a newer gpusim wrote it"):
        open_trace(recording)
    with h5py.File(recording, "a") as file:
        file.attrs["format"] = "gpusim result"
    with pytest.raises(UserError, match="is not a trace of gpusim: it is a gpusim result"):
        open_trace(recording)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("applications/share", 7.5, r"application 0 has the share 7\.5; more than 0 and at most 1"),
        (
            "applications/instance",
            -5,
            r"application 0 has an instance of -5 slices; allowed: 0 to 7",
        ),
        ("launches/application", 3, r"row 0 of launches is of application 3; there are 1, from 0"),
        ("launches/threads_per_block", 0, r"launch 0: a block of no threads"),
        ("launches/gpu", 1, r"launch 0 is of GPU 1, without its stream"),
        ("launches/blocks", 5, r"an index of \d+ blocks; its launches have \d+"),
        ("blocks/chunk", 1 << 40, r"blocks/chunk is no index of \d+ rows"),
        ("chunks/active", 1 << 40, r"chunks/active is no index of \d+ rows"),
        ("instructions/kind", 200, r"chunk 0: it does not have the instructions of its index"),
        ("instructions/kind", Op.FETCH, r"chunk 0: it does not have the instructions of its"),
        ("instructions/argument", -5, r"chunk 0: argument -5; allowed: 0 to \d+"),
        ("instructions/argument", 1 << 37, r"chunk 0: argument 137438953472; allowed: 0 to \d+"),
        ("accesses/size", 64, r"chunk 0: size 64; allowed: 1 to 32"),
        ("accesses/size", 32, r"chunk 0: a lane crosses a sector of 32 bytes"),
        ("addresses/lane", -9, r"chunk 0: address -9; allowed: -1 to \d+"),
        ("active/warp", 2, r"chunk 0: active 2; allowed: 0 to 1"),
    ],
)
def test_values_that_nothing_has(recording, place, value, message):
    with h5py.File(recording, "a") as file:
        row = first_argument(file) if place == "instructions/argument" else 0
        file[place][row] = value
    with pytest.raises(UserError, match=rf"trace\.h5 is damaged: {message}"):
        simulate(load_model("tiny"), load_workload(str(recording)))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("seed", -5, r"attribute seed is -5; allowed: 0 to \d+"),
        ("seed", np.uint64((1 << 64) - 1), r"attribute seed is 18446744073709551615; allowed"),
        ("schema", "four", r"attribute schema is 'four'; must be a whole number"),
        ("schema", 0, r"attribute schema is 0; allowed: 1 to \d+"),
        ("relaunch", float("nan"), r"attribute relaunch is 'nan'; must be a whole number"),
        ("by_thread", 9, r"attribute by_thread is 9; allowed: 0 to 1"),
        ("warp_size", [32, 32], r"attribute warp_size is '\[32 32\]'; must be a whole number"),
        ("warp_size", 0, r"attribute warp_size is 0; allowed: 1 to 1024"),
        ("warnings", "{{", r"attribute warnings is no JSON: Expecting property name"),
        ("warnings", "7", r"attribute warnings has 7; must be a number of an application, below 1"),
        ("warnings", "[[0, 7]]", r"attribute warnings has \[0, 7\]; must be a number"),
        ("warnings", '[[3, "x"]]', r"attribute warnings has \[3, 'x'\]; must be a number"),
    ],
)
def test_attributes_that_nothing_has(recording, name, value, message):
    with h5py.File(recording, "a") as file:
        file.attrs[name] = value
    with pytest.raises(UserError, match=rf"trace\.h5 is damaged: {message}"):
        open_trace(recording)


def test_passes_of_shared_memory_that_nothing_has(tmp_path):
    path = tmp_path / "trace.h5"
    record_trace(load_workload("softmax", "smoke", 0, {"rows": 4}), path)
    with h5py.File(path, "a") as file:
        row = file["instructions/kind"][:].tolist().index(Op.SHARED_LOAD)
        file["instructions/argument"][row] = 1 << 30
    message = "chunk 0: a shared-memory access of 0 passes, at least 16384"
    with pytest.raises(UserError, match=message):
        simulate(load_model("tiny"), load_workload(str(path)))


def first_argument(file):
    """The first instruction whose argument means something."""
    kinds = file["instructions/kind"][:].tolist()
    return next(row for row, kind in enumerate(kinds) if kind not in MEMORY_OPS)


@pytest.mark.parametrize("place", ["instructions/argument", "addresses/lane", "active/warp"])
def test_fractions_where_whole_numbers_should_be(recording, place):
    with h5py.File(recording, "a") as file:
        values = file[place][:].astype("f8")
        del file[place]
        file[place] = values
    with pytest.raises(UserError, match=rf"chunk 0: {place} holds float64; whole numbers are all"):
        read_all(recording)


def test_damage_that_shows_while_a_file_is_looked_through(recording):
    data = bytearray(recording.read_bytes())
    places = [at for at in range(len(data)) if data.startswith(b"OHDR", at)]
    data[places[len(places) // 2] + 8] ^= 1
    recording.write_bytes(data)
    with pytest.raises(UserError, match=r"trace\.h5 is no HDF5 file, damaged or cut short"):
        open_recorded(recording)
