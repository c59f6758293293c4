"""`gpusim trace ptx` and `cuda`: a kernel of the user's own, in three commands."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from gpusim.cli.main import app
from gpusim.ptx import nvrtc
from tests.ptx.tracing import DATA

LAUNCH = """
import numpy as np

def launch(kernel):
    x, y = np.ones(4096, np.float32), np.zeros(4096, np.float32)
    kernel.launch(16, 256, x, y, 2.0, 4096)
    assert y.sum() == 8192
"""


def gpusim(*arguments, code=0):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    return result


def flat(result):
    """Its output in one line."""
    return " ".join(result.output.split())


@pytest.fixture
def launch(tmp_path):
    path = tmp_path / "launch.py"
    path.write_text(LAUNCH)
    return path


def check(trace):
    counts = json.loads(gpusim("trace", "info", trace, "--json").stdout)
    one = counts["applications"]["scale"]
    assert one["memory_instructions"]["global"] == 2 * 128
    assert (one["global"]["loads"], one["global"]["stores"]) == (128, 128)
    assert one["global"]["footprint_bytes"] == 32768
    run = json.loads(gpusim("run", "tiny", trace, "--json").stdout)
    assert run["summary"]["memory_instructions"] == 256


def test_a_kernel_in_ptx(tmp_path, launch):
    trace = tmp_path / "scale.h5"
    done = gpusim("trace", "ptx", DATA / "scale.ptx", "--launch", launch, "-o", trace)
    assert "wrote" in done.stdout
    assert "registers of a thread are estimated" in done.output
    check(trace)


@pytest.mark.skipif(not nvrtc.is_installed(), reason="NVRTC is not installed")
def test_a_kernel_in_cuda(tmp_path, launch):
    trace = tmp_path / "scale.h5"
    kernel = f"{DATA / 'scale.cu'}:scale"
    done = gpusim("trace", "cuda", kernel, "--launch", launch, "-o", trace)
    assert "estimated" not in done.output
    check(trace)


@pytest.mark.skipif(not nvrtc.is_installed(), reason="NVRTC is not installed")
def test_what_nvrtc_does_not_accept_is_told(tmp_path, launch):
    path = tmp_path / "k.cu"
    path.write_text("__global__ void k(int *a) { a[0] = b; }")
    done = gpusim("trace", "cuda", path, "--launch", launch, "-o", "x.h5", code=2)
    assert 'k.cu(1): error: identifier "b" is undefined' in flat(done)


def test_without_nvrtc_the_error_says_how_to_get_it(tmp_path, launch, monkeypatch):
    monkeypatch.setattr(nvrtc, "_path", lambda: None)
    done = gpusim("trace", "cuda", DATA / "scale.cu", "--launch", launch, "-o", "x.h5", code=2)
    assert "pip install 'gpusim[cuda]'" in flat(done)


@pytest.mark.parametrize(
    ("kernel", "text", "message"),
    [
        (
            "scale.ptx",
            "def lunch(kernel): pass",
            "no function launch; did you mean 'lunch'",
        ),
        ("scale.ptx", "1 / 0", "launch.py: ZeroDivisionError"),
        ("scale.ptx", "def launch(kernel): kernel.launch()", "launch.py: TypeError"),
        ("scale.ptx", "def launch(kernel): pass", "nothing was launched"),
        ("scale.ptx", "launch = int", "launch() must take the kernel"),
        ("empty.ptx", "def launch(one, other): pass", "empty.ptx has no kernel"),
        ("scale.cu", LAUNCH, "must end with .ptx"),
        ("none.ptx", LAUNCH, "there is no such file"),
    ],
)
def test_what_is_wrong_is_told(tmp_path, kernel, text, message):
    path = tmp_path / "launch.py"
    path.write_text(text)
    output = tmp_path / "x.h5"
    done = gpusim("trace", "ptx", DATA / kernel, "--launch", path, "-o", output, code=2)
    assert message in flat(done)
    assert not output.exists()


def test_kernels_in_triton(tmp_path):
    pytest.importorskip("triton")
    path = tmp_path / "mine.py"
    path.write_text(
        """import numpy as np
import triton
import triton.language as tl

@triton.jit
def double(x_ptr, n, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + place, mask=place < n)
    tl.store(x_ptr + place, 2 * x, mask=place < n)
    tl.device_print("x", x)

def main():
    x = np.ones(4096, np.float32)
    double[(8,)](x, 4096, BLOCK=512)
    assert x.sum() == 8192
"""
    )
    trace = tmp_path / "mine.h5"
    code = "from gpusim.cli.start import main; main()"
    arguments = ("trace", "triton", f"{path}:main", "-o", str(trace))
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"wrote {trace}\n"), done.stderr
    told = gpusim("trace", "triton", f"{path}:double", "-o", tmp_path / "no.h5", code=2)
    assert "mine.py: double is a kernel, which is launched on a grid: name the" in flat(told)
    assert "warning: not all of the trace is modelled: 1 printf: what kernels print" in done.stderr
    assert "leaked" not in done.stderr
    counts = json.loads(gpusim("trace", "info", trace, "--json").stdout)
    one = counts["applications"]["mine"]
    assert one["kernels"] == {"double": 1}
    assert one["global"]["footprint_bytes"] == 16384


def test_without_numba_the_error_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    path = tmp_path / "mine.py"
    path.write_text("def main(): pass")
    done = gpusim("trace", "numba", f"{path}:main", "-o", tmp_path / "x.h5", code=2)
    assert "pip install 'gpusim[numba]'" in flat(done)


SEVERAL = """
import numpy as np
def launch(count, counted):
    x, out = np.arange(10, dtype=np.int32), np.zeros(2, np.int32)
    count.launch(1, 32, x, 10)
    counted.launch(1, 2, out)
    assert out.tolist() == [6, 6]
"""


def test_several_kernels_of_a_file(tmp_path):
    launch, trace = tmp_path / "launch.py", tmp_path / "t.h5"
    launch.write_text(SEVERAL)
    gpusim("trace", "ptx", DATA / "users.ptx", "--launch", launch, "-o", trace)
    counts = json.loads(gpusim("trace", "info", trace, "--json").stdout)
    assert counts["applications"]["count"]["launches"] == 2


@pytest.mark.parametrize(
    ("takes", "kernel", "message"),
    [
        ("kernel", "users.ptx", "(count, counted, scaled, halved, filled)"),
        ("count, countd", "users.ptx", "launch(count, countd): its parameters must be names"),
        ("count, counted", "users.ptx:count", "or one parameter for count that is named"),
        ("", "scale.ptx", "launch() must take the kernel: def launch(kernel)"),
    ],
)
def test_launches_that_take_other_kernels(tmp_path, takes, kernel, message):
    launch = tmp_path / "launch.py"
    launch.write_text(f"def launch({takes}): pass")
    done = gpusim("trace", "ptx", DATA / kernel, "--launch", launch, "-o", "x.h5", code=2)
    assert message in flat(done)
