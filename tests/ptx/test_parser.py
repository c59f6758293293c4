"""Reading PTX: what it says, and where it is wrong."""

import re

import numpy as np
import pytest

import gpusim
from gpusim.core.errors import UserError
from gpusim.ptx.kernel_file import plain_name
from gpusim.ptx.parser import parse
from gpusim.ptx.syntax import Address, Guard, Immediate, Place, Register, Vector
from tests.ptx.tracing import DATA

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"


def body_of(text):
    module = parse(f"{HEAD}.visible .entry k(.param .u64 a)\n{{\n{text}\n}}\n", "k.ptx")
    return module, module.functions["k"]


def test_a_module_of_a_compiler():
    module = parse((DATA / "reduce.ptx").read_text(), "reduce.ptx")
    assert module.target == "sm_80"
    kernels = [one.name for one in module.functions.values() if one.entry]
    assert kernels == ["total", "histogram", "compact", "spectrum"]
    (shared,) = [one for one in module.variables if one.space == "shared"]
    assert (shared.name, shared.bytes, shared.align) == ("part", 0, 16)
    total = module.functions["total"]
    vector = next(one for one in total.body if getattr(one, "name", "") == "ld.global.v4.f32")
    registers = tuple(Register(f"%f{number}") for number in (14, 15, 16, 17))
    assert vector.operands == (Vector(registers), Address(Register("%rd5")))
    assert vector.source == Place("reduce.cu", 5)
    spectrum = module.functions["spectrum"]
    assert [one.bytes for one in spectrum.parameters] == [16, 8]


def test_forms_of_operands():
    _, function = body_of(
        """.reg .pred %p<3>; .reg .b32 %r<4>; .reg .f32 f; .reg .b64 %rd<3>;
        @!%p1 shfl.sync.down.b32 %r1|%p2, %r2, 0x1F, 010, -1;
        /* two
           lines */ mov.f32 f, 0f3F800000;
        ld.global.L2::128B.u32 %r1, [%rd1+-8];
        add.f64 %rd1, %rd2, 1.5e1; // nothing
        setp.lt.and.u32 %p1|%p2, %r1, 4294967295U, !%p2;"""
    )
    shuffle, move, load, add, compare = function.body
    assert shuffle.guard == Guard("%p1", negated=True)
    assert shuffle.operands[0] == Vector((Register("%r1"), Register("%p2")))
    assert [one.value for one in shuffle.operands[2:]] == [31, 8, -1]
    assert move.operands == (Register("f"), Immediate(1.0, 32))
    assert load.operands[1] == Address(Register("%rd1"), -8)
    assert load.modifiers == ("global", "L2::128B", "u32")
    assert add.operands[2] == Immediate(15.0, 64)
    assert compare.operands[2] == Immediate(4294967295)
    assert [one.line for one in function.body] == [7, 9, 10, 11, 12]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("add.s32 %r1, %r2", "k.ptx:7: ',' or ';' expected, there is '}'"),
        ("ld.global.u32 %r1, [%rd1;", "k.ptx:6: ']' expected"),
        (".reg .b32 %r<9999999999>;", "registers; at most"),
        ("`", "k.ptx:6: '`"),
        (".blah 3;", "'.blah' cannot begin a statement"),
    ],
)
def test_what_is_no_ptx_names_its_line(text, message):
    with pytest.raises(UserError, match=re.escape(message)):
        body_of(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("addd.s32 %r1, %r1, %r1;", "k.ptx:7: addd.s32: unknown opcode; did you mean 'add'?"),
        ("ld.global.u32 %r1, [%rd7];", "there is no register '%rd7'; did you mean '%rd"),
        ("mov.u64 %rd1, tabel;\nst.global.u32 [%rd1], 0;", "there is no variable 'tabel'"),
        ("call f, (%r1);", "there is no function 'f'"),
        ("bra OUT;", "there is no label 'OUT'"),
        ("brx.idx %r1, T;", "there are no .branchtargets"),
    ],
)
def test_what_cannot_be_run_names_its_line(tmp_path, text, message):
    path = tmp_path / "k.ptx"
    registers = ".reg .b32 %r<3>; .reg .b64 %rd<3>;"
    path.write_text(f"{HEAD}.visible .entry k(.param .u64 a)\n{{\n{registers}\n{text}\nret;\n}}\n")
    with pytest.raises(UserError, match=re.escape(message)):
        gpusim.load_kernel(path).launch(1, 32, np.zeros(8))


def test_a_kernel_is_found_by_its_name(tmp_path):
    assert plain_name("_Z5scalePKfPffi") == "scale"
    assert plain_name("_ZN3foo5scaleEPKf") == "scale"
    assert plain_name("scale") == "scale"
    with pytest.raises(UserError, match="several kernels: name one of total, histogram"):
        gpusim.load_kernel(DATA / "reduce.ptx")
    with pytest.raises(UserError, match="no kernel 'totl'; did you mean 'total'"):
        gpusim.load_kernel(f"{DATA / 'reduce.ptx'}:totl")
    (tmp_path / "k.txt").write_text("")
    with pytest.raises(UserError, match=r"from \.cu \(CUDA C\+\+\) and \.ptx files"):
        gpusim.load_kernel(tmp_path / "k.txt")
    (tmp_path / "empty.ptx").write_text(HEAD)
    with pytest.raises(UserError, match="has no kernel"):
        gpusim.load_kernel(tmp_path / "empty.ptx")


def test_a_function_that_calls_itself_is_refused(tmp_path):
    path = tmp_path / "k.ptx"
    path.write_text(
        f"{HEAD}.func f()\n{{\ncall f;\nret;\n}}\n.visible .entry k()\n{{\ncall f;\nret;\n}}\n"
    )
    with pytest.raises(UserError, match=r"k\.ptx:6: call: 'f' calls itself"):
        gpusim.load_kernel(path)
