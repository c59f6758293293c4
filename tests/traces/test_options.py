"""What a user says beside a trace: numbers of its header, lists under other names."""

import pytest

import gpusim
from gpusim.core.errors import UserError
from gpusim.traces.open_trace import open_trace
from gpusim.traces.options import trace_options
from tests.quick import quick
from tests.traces.writing import EXIT, block, header, write, write_tracez

IMPOSSIBLE = {"nregs": "21955", "shmem": "1", "binary__version": "0", "block__dim": "(128,1,1)"}


def kernel(path, **changes):
    told = header(**{**IMPOSSIBLE, **changes})
    if path.suffix == ".tracez":
        return write_tracez(path, told, [((0, 0, 0), [[EXIT]] * 4)])
    return write(path, told + block([[EXIT]] * 4))


def cycles(path, **options):
    workload = gpusim.load_workload(str(path), overrides=options)
    return gpusim.simulate(gpusim.load_model("v100", overrides={"sm.count": 4}), workload).summary[
        "cycles"
    ]


@pytest.mark.parametrize(
    "name",
    quick(["kernel-593-ctx_0x55aa.traceg", "kernel-1.tracez", "k.traceg.zst"], "kernel-1.tracez"),
)
def test_impossible_registers_are_refused_and_replaced(tmp_path, name):
    path = kernel(tmp_path / name)
    with pytest.raises(UserError, match=r"21955 registers.*overrides\['nregs'\]=N"):
        cycles(path)
    assert cycles(path, nregs=32) == cycles(path, ignore_resource_limits=True) > 0


@pytest.mark.parametrize("value", ["-1", "many", "4294967296000"])
def test_what_is_no_number_of_registers(tmp_path, value):
    path = kernel(tmp_path / "k.traceg", nregs=value)
    with pytest.raises(UserError, match=r"k\.traceg:6: nregs = .*overrides\['nregs'\]=NUMBER"):
        open_trace(path)
    assert cycles(path, nregs="0x20") > 0


def test_shared_memory(tmp_path):
    path = kernel(tmp_path / "k.traceg", nregs="8", shmem="1000000")
    with pytest.raises(UserError, match=r"1000000 B of shared memory.*overrides\['shmem'\]=BYTES"):
        cycles(path)
    assert cycles(path, shmem=512) > 0


@pytest.mark.long
def test_as_an_application_of_a_workload(tmp_path):
    kernel(tmp_path / "k.traceg")
    path = tmp_path / "w.toml"
    path.write_text('[[applications]]\ntrace = "k.traceg"\n')
    with pytest.raises(UserError, match=r"overrides\['nregs'\]=N"):
        cycles(path)
    assert cycles(path, nregs=32) == cycles(path, **{"k.nregs": 32}) > 0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"n": 1}, "a trace has no parameter but pace, nregs"),
        ({"nregs": "x"}, r"overrides: nregs=x: allowed: a whole number from 0"),
        ({"ignore_resource_limits": "perhaps"}, "allowed: true or false"),
        ({"arrays": "12"}, "allowed: BASE:BYTES"),
        ({"arrays": "0x10:0"}, "allowed: BASE:BYTES"),
        ({"lanes": 3}, "allowed: 1, 2, 4, 8, 16, 32"),
        ({"warps": 0}, "allowed: a whole number from 1"),
    ],
)
def test_wrong_options(values, message):
    with pytest.raises(UserError, match=message):
        trace_options(values)


def test_arrays(tmp_path):
    path = kernel(tmp_path / "k.traceg", nregs="8")
    options = trace_options({"arrays": "0x1000:4096, 65536:16"})
    (application,) = open_trace(path, options=options).applications
    assert [(one.base, one.bytes) for one in application.buffers] == [(4096, 4096), (65536, 16)]


@pytest.mark.parametrize("name", ["kernelslist_ctx_0x55aa.g", "list", "mine.txt", "l.g.gz"])
@pytest.mark.parametrize("begin", ["", "\ufeff", "\r\n", "MemcpyHtoD,0x10,4\r\n"])
def test_a_list_has_any_name(tmp_path, name, begin):
    kernel(tmp_path / "kernel-1.traceg", nregs="8")
    path = write(tmp_path / name, f"{begin}kernel-1.traceg\r\n")
    (application,) = open_trace(path).applications
    assert [one.name for one in application.launches()] == ["toy"]


def test_a_list_that_was_moved_with_its_kernels(tmp_path):
    kernel(tmp_path / "kernel-1.traceg", nregs="8")
    path = write(tmp_path / "kernelslist.g", "/where/it/was/kernel-1.traceg\n")
    assert [one.name for one in open_trace(path).applications[0].launches()] == ["toy"]


def test_a_folder_with_a_list_of_another_name(tmp_path):
    kernel(tmp_path / "kernel-1.traceg", nregs="8")
    write(tmp_path / "kernelslist_ctx_0x55aa.g", "./kernel-1.traceg\n")
    assert gpusim.load_workload(str(tmp_path)).applications[0].name == tmp_path.name
    write(tmp_path / "kernelslist_ctx_0x66bb.g", "kernel-1.traceg\n")
    with pytest.raises(UserError, match="several lists of kernels"):
        gpusim.load_workload(str(tmp_path))


def test_spreading_is_for_traces_of_one_thread(tmp_path):
    path = kernel(tmp_path / "k.traceg", nregs="8")
    with pytest.raises(UserError, match="are for traces of one thread"):
        gpusim.load_workload(str(path), overrides={"warps": 2})
