"""What of a trace is not modelled is counted, and named in one warning."""

import pytest

import gpusim
from gpusim.core.warp_program import LEAST_SHIFT
from gpusim.traces.open_trace import open_trace
from gpusim.traces.sass import MEMORY_OPCODES, NO_DATA
from gpusim.traces.sass_unmodelled import ARITHMETIC, UNMODELLED
from gpusim.traces.unread import Unread
from tests.traces.test_nvbit import by_thread, launch, opened, record, told
from tests.traces.writing import EXIT, block, header, operations, used, write
from tests.traces.writing_macsim import record as macsim_record
from tests.traces.writing_macsim import write_kernel

BASE = 0x7F1000000000


def run_few(path):
    """A run of a trace on a few SMs of a V100."""
    few = gpusim.load_model("v100", overrides={"sm.count": 4})
    return gpusim.simulate(few, gpusim.load_workload(str(path)))


def only_warning(path):
    """The only warning of a run of a trace on a few SMs, behind the application's name."""
    result = run_few(path)
    (warning,) = result.warnings
    begin = f"{path.name.partition('.')[0]}: not all of the trace is modelled: "
    assert warning.startswith(begin)
    return warning.removeprefix(begin)


def lines(*texts):
    return [f"{16 * place:04x} {text}" for place, text in enumerate(texts)]


def traceg(path, *texts, **changes):
    return write(path, header(**changes) + block([[*lines(*texts), EXIT]]))


def test_textures_and_surfaces_without_addresses(tmp_path):
    texts = ["ffffffff 1 R4 TEX.LL 1 R2 0 0"] * 100 + ["ffffffff 1 R4 SULD.D.BA.1D 1 R2 0 0"] * 3
    path = traceg(tmp_path / "k.traceg", *texts)
    assert only_warning(path) == "100 TEX, 3 SULD: accesses not in the trace, not modelled"


def test_opcodes_of_kepler_and_pascal_alone(tmp_path):
    bases = ("ISUB", "CAL", "TEXS.T", "TLDS", "TLD4S")
    path = traceg(tmp_path / "k.traceg", *(f"ffffffff 1 R4 {base} 1 R2 0 0" for base in bases))
    assert only_warning(path) == "1 TEXS, 1 TLDS, 1 TLD4S: accesses not in the trace, not modelled"


def test_with_addresses_they_are_accesses(tmp_path):
    path = traceg(tmp_path / "k.traceg", f"1 1 R4 TEX.LL 1 R2 4 1 {BASE:#x} 0 0")
    (kernel,) = open_trace(path).applications[0].start().launches()
    (loaded,) = [used(lanes) for op, _, lanes in operations(kernel)[0] if op == "LOAD"]
    assert loaded == {0: BASE}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f 1 R4 LDC 1 R2 0 0", "1 LDC: loads of constants"),
        ("f 0 MEMBAR.SC.GPU 0 0 0", "1 MEMBAR: memory fences"),
        ("f 0 CCTL.PF2 0 0 0", "1 CCTL: cache control"),
        ("f 0 NANOSLEEP 1 R2 0 0", "1 NANOSLEEP: waits for a time"),
        ("f 0 USETMAXREG.DEALLOC.CTAPOOL 0 0 24", "1 USETMAXREG: registers moved"),
        ("f 0 UCGABAR_ARV 0 0 0", "1 UCGABAR_ARV: clusters of blocks"),
        ("f 1 R4 LDTM.x16 1 UR4 0 0", "1 LDTM: accesses to tensor memory"),
        ("f 0 ACQBULK 0 0 0", "1 ACQBULK: launches that overlap"),
        ("f 0 BAR.ARV 0 0 0", "1 BAR.ARV: barriers of some"),
        ("f 0 BAR.SYNC 0 0 2", "1 BAR: barriers of some"),
        ("f 1 R4 FROBNICATE.X 1 R2 0 0", "1 FROBNICATE.X: opcodes that gpusim does not know"),
        ("f 0 UTMACCTL.IV 1 UR4 8 1 0x10 0 0", "1 UTMACCTL: cache control"),
        ("f 0 STAS.64 1 R4 8 1 0x10 0 0", "1 STAS: clusters of blocks"),
        ("f 1 R4 LDG.E 1 R2 0 0", "1 LDG: accesses not in the trace"),
        (f"f 1 R4 LDG.E.EF 1 R2 4 1 {BASE:#x} 4 0", "1 LDG.E.EF: eviction priorities"),
        (f"f 1 R4 LDG.E.LTC128B 1 R2 4 1 {BASE:#x} 4 0", "1 LDG.E.LTC128B: prefetches to L2"),
        (f"f 1 R4 LDG.E.S8 1 R2 4 1 {BASE:#x} 4 0", "1 LDG.E.S8: the trace's width"),
    ],
)
def test_what_an_instruction_says_in_vain(tmp_path, text, expected):
    assert only_warning(traceg(tmp_path / "k.traceg", text)).startswith(expected)


def test_nothing_is_told_of_what_no_lane_executes_and_of_plain_code(tmp_path):
    path = traceg(
        tmp_path / "k.traceg",
        "00000000 1 R4 TEX.LL 1 R2 0 0",
        f"f 1 R4 LDG.E.64.SYS 1 R2 8 1 {BASE:#x} 8 0",
        "f 0 BAR.SYNC.DEFER_BLOCKING 0 0 0",
        "f 1 R4 IMAD.WIDE 2 R4 R2 0 0",
        "f 1 R4 F2FP.SATFINITE.E4M3.F32.PACK_AB 2 R4 R2 0 0",
    )
    result = run_few(path)
    assert not result.warnings


@pytest.mark.parametrize(
    ("opcode", "told", "bytes_"),
    [
        ("LDG.E.S8", 1, 1),
        ("LDG.E.S16", 2, 2),
        ("LDG.E.U8", 1, 1),
        ("LDG.E.U16", 2, 2),
        ("LDG.E.S8", 4, 4),  # the trace's field decides
        ("LDG.E.64", 4, 8),  # a plain number of bits does
        ("RED.E.ADD.F64.RN", 8, 8),
        ("LDG.E.ENL2.256", 32, 32),
    ],
)
def test_widths(tmp_path, opcode, told, bytes_):
    path = traceg(tmp_path / "k.traceg", f"1 1 R4 {opcode} 1 R2 {told} 1 {BASE:#x} 0 0")
    (kernel,) = open_trace(path).applications[0].start().launches()
    assert [size for _, size, lanes in operations(kernel)[0] if lanes] == [bytes_]


def test_headers_and_lists(tmp_path):
    for number in (1, 2):
        changes = {"cuda__stream__id": str(number), "cluster__dim": "(2,1,1)"}
        write(tmp_path / f"kernel-{number}.traceg", header(**changes) + block([[EXIT]]))
    path = write(
        tmp_path / "kernelslist.g",
        "# own\r\n\r\nMemcpyDtoH,0x10,4\r\nkernel-1.traceg\r\nMemsetD8,1\r\nkernel-2.traceg\r\n",
    )
    (application,) = open_trace(path).applications
    assert application.unread.text() == (
        "1 MemcpyDtoH, 1 MemsetD8: lines of the list of kernels, not modelled; "
        "2 -cluster dim: lines of kernels' headers, not modelled"
    )


def test_each_run_counts_anew(tmp_path):
    path = traceg(tmp_path / "k.traceg", "f 1 R4 TEX 1 R2 0 0")
    workload = gpusim.load_workload(str(path))
    model = gpusim.load_model("tiny")
    first, second = (gpusim.simulate(model, workload).warnings for _ in range(2))
    assert first == second
    assert "1 TEX" in first[0]


def test_an_imported_trace_tells_it_too(tmp_path):
    from gpusim.traces.recorder import record_trace

    path = traceg(tmp_path / "k.traceg", "f 1 R4 TEX 1 R2 0 0")
    (told_then,) = record_trace(open_trace(path), tmp_path / "k.h5")
    assert told_then == (
        "not all of the trace is modelled: 1 TEX: accesses not in the trace, not modelled"
    )
    imported, machine = run_few(tmp_path / "k.h5").warnings
    assert imported.endswith("1 TEX: accesses not in the trace, not modelled")
    assert "COMPUTE: units of arithmetic" in machine


def test_both_records_of_a_copy_to_shared_memory(tmp_path):
    there = {lane: 16 * lane + 16 for lane in range(32)}
    here = {lane: BASE + 16 * lane for lane in range(32)}
    opcode = "LDGSTS.E.BYPASS.128"
    _, (only,) = opened(
        tmp_path / "run.txt",
        launch(),
        record("0,0,0", 0, opcode, there),
        record("0,0,0", 0, opcode, here),
    )
    assert told(only, 0)[0] == [
        ("SHARED", 4 | 4 << LEAST_SHIFT, {}),
        ("COHERENT_LOAD", 16, here),
        ("WAIT", 0, {}),
    ]


def test_records_of_mem_trace(tmp_path):
    application, (only,) = opened(
        tmp_path / "run.txt",
        launch(),
        record("0,0,0", 0, "CCTL.IV", {0: BASE}),
        by_thread("0,0,0", 0, "LDG.E.S8", 4, {0: BASE}),
        by_thread("0,0,0", 0, "LDG.E.U8", 1, {0: BASE}),
    )
    unread = Unread()
    only.unread = unread
    assert [size for op, size, _ in told(only, 0)[0] if op == "LOAD"] == [4, 1]
    assert unread.text().startswith("1 CCTL.IV: cache control, not modelled; 1 LDG.E.S8: the")
    assert not application.unread


def test_records_of_macsim(tmp_path):
    records = [
        macsim_record(120),  # TEX
        macsim_record(90),  # MEMBAR
        macsim_record(85, mask=1),  # ATOMG, which has no address there
        macsim_record(200),
        macsim_record(73, address=BASE, operator=4),  # LDG.cs
        macsim_record(36),  # IMAD
    ]
    path = write_kernel(tmp_path / "Kernel0", {0: records})
    (kernel,) = open_trace(path).applications[0].start().launches()
    list(kernel.run_block(0, 32))
    assert kernel.unread.text().partition("headers; ")[2] == (
        "1 TEX, 1 ATOMG: accesses not in the trace, not modelled; "
        "1 MEMBAR: memory fences, not modelled: they wait for nothing; "
        "1 opcode 200: opcodes that gpusim does not know, counted as arithmetic; "
        "1 LDG: eviction priorities, not modelled"
    )


def test_a_list_of_names_that_tells_little(tmp_path):
    """Kernels of MacSim without sizes, and ids of blocks and warps that are left out."""
    write_kernel(tmp_path / "K", {number: [macsim_record(36)] for number in (0, 2, 3 << 16)})
    write(tmp_path / "kernel_names.txt", "K name: add\nGrid: 4\n")
    path = write(tmp_path / "kernel_config.txt", "nvbit\r\n14\r\n-1\r\nK/trace.txt\r\n")
    (application,) = open_trace(path).applications
    assert application.unread.text() == (
        "1 Grid: 4: lines of kernel_names.txt, not read; "
        "1 add: kernels whose registers and shared memory no kernel_names.txt tells, taken for 0; "
        "see docs/traces.md#numbers-in-place-of-a-headers; "
        "2 thread blocks, 1 warps: of which the file has no line: they do nothing"
    )


def warned(path):
    """What a reader counts in all blocks of a trace, and what the first block's warps do."""
    application = open_trace(path).applications[0].start()
    (kernel,) = application.launches()
    did = [operations(kernel, number) for number in range(kernel.blocks)]
    return list(application.warnings()), did[0] if did else []


def test_generic_accesses_lane_by_lane(tmp_path):
    shared, local = 0x7F0700000000, 0x7F0500000000
    addresses = f"{BASE:#x} {shared + 128:#x} {local + 4:#x} {BASE + 4:#x} {shared + 256:#x}"
    path = traceg(tmp_path / "k.traceg", f"1f 1 R4 LD.E 1 R2 4 0 {addresses} 0")
    warnings, (did,) = warned(path)
    loads = [used(lanes) for op, _, lanes in did if op == "LOAD"]
    assert loads[0] == {0: BASE, 3: BASE + 4}
    assert list(loads[1]) == [2]
    assert loads[1][2] >= 0xC00000000000
    assert [argument for op, argument, _ in did if op == "SHARED"] == [2]
    assert warnings == []


def test_generic_accesses_without_windows_are_counted(tmp_path):
    text = f"f 1 R4 LD.E 1 R2 4 1 {BASE:#x} 4 0"
    path = traceg(tmp_path / "k.traceg", text, text, shmem__base_addr=None)
    (warning,), (did,) = warned(path)
    assert warning.endswith(
        "2 LD: generic accesses, whose windows the header does not tell: taken for shared memory"
    )
    assert [op for op, *_ in did].count("SHARED") == 2


def test_generic_accesses_of_mem_trace_are_counted(tmp_path):
    _, (kernel,) = opened(tmp_path / "t.txt", launch(), record("0,0,0", 0, "LD.E", {0: BASE}))
    operations(kernel)
    assert "1 LD.E: generic accesses, whose windows the trace does not tell" in kernel.unread.text()


def test_blocks_and_warps_that_a_file_leaves_out_are_counted(tmp_path):
    path = write(tmp_path / "k.traceg", header(grid__dim="(3,1,1)"))
    (warning,), _ = warned(path)
    assert warning.endswith("3 thread blocks: of which the file has no line: they do nothing")
    text = header(block__dim="(128,1,1)") + block([[EXIT], [EXIT]])
    (warning,), _ = warned(write(tmp_path / "w.traceg", text))
    assert warning.endswith("2 warps: of which the file has no line: they do nothing")


def test_a_header_says_each_thing_once(tmp_path):
    text = header().replace("-nregs = 8", "-nregs = 8\n-nregs = 9")
    with pytest.raises(gpusim.UserError, match=r"k.traceg:7: -nregs comes a second time"):
        open_trace(write(tmp_path / "k.traceg", text + block([[EXIT]])))


def test_many_names_are_summed_up():
    unread = Unread()
    for number in range(20):
        unread.note("not read", f"N{number}", 100 - number)
    text = unread.text()
    assert "100 N0, 99 N1" in text
    assert text.endswith("85 N15, 330 of 4 other names: not read")


def test_a_kernel_may_have_been_packed_since_its_list_was_written(tmp_path):
    write(tmp_path / "kernel-1.traceg.xz", header() + block([[EXIT]]))
    (application,) = open_trace(write(tmp_path / "kernelslist.g", "kernel-1.traceg\n")).applications
    assert [kernel.name for kernel in application.start().launches()] == ["toy"]


def test_no_opcode_is_in_two_tables():
    assert not ARITHMETIC & set(UNMODELLED)
    assert not ARITHMETIC & set(MEMORY_OPCODES)
    assert set(NO_DATA) <= {"QSPC", *UNMODELLED}
