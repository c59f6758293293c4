"""What a command writes never takes the place of what it reads, or writes under another option."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpusim
from gpusim.core.errors import UserError
from gpusim.traces.recorder import record_trace
from tests.whole.running import command

LAUNCHES = gpusim.load_workload("launches", "smoke", overrides={"count": 3})
SETTING = ("--scale", "smoke", "--set", "workload.count=3")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    record_trace(LAUNCHES, "trace.h5")
    gpusim.checkpoint("tiny", LAUNCHES, "state.h5", skip="1launches")
    gpusim.simulate("tiny", LAUNCHES, output="run.h5", record=["intervals"]).close()
    Path("events.jsonl").write_text('{"at": 3, "event": "shootdown"}\n')
    Path("launch.py").write_text("def launch(kernel): ...\n")
    Path("link.h5").symlink_to("trace.h5")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("run tiny trace.h5 -o trace.h5", "--output trace.h5: would replace"),
        ("run tiny trace.h5 -o link.h5", "--output link.h5: would replace"),
        ("run tiny SMALL --from state.h5 -o state.h5", "--output state.h5: would replace"),
        ("run tiny SMALL --events events.jsonl --log events.jsonl", "--log events.jsonl: would"),
        ("run tiny SMALL -o new.h5 --log new.h5", "--log new.h5: --output names it, too"),
        ("checkpoint tiny trace.h5 --skip 1launches -o trace.h5", "--output trace.h5: would"),
        ("characterize tiny trace.h5 -o trace.h5", "--output trace.h5: would replace"),
        ("characterize tiny SMALL -o new.png --plot new.png", "--plot new.png: --output names"),
        ("timeline run.h5 --perfetto run.h5", "--perfetto run.h5: would replace run.h5, which is"),
        ("trace record trace.h5 -o trace.h5", "--output trace.h5: would replace"),
        ("trace import trace.h5 -o trace.h5", "--output trace.h5: would replace"),
        ("trace ptx k.ptx --launch launch.py -o launch.py", "--output launch.py: would replace"),
        ("trace triton launch.py -o launch.py", "--output launch.py: would replace"),
    ],
)
def test_an_output_is_no_input(here: Path, words: str, told: str) -> None:
    before = {path: path.read_bytes() for path in here.iterdir()}
    some = (("launches", *SETTING) if word == "SMALL" else (word,) for word in words.split())
    done = command(*(word for group in some for word in group), code=2)
    assert told in done.stderr
    assert {path: path.read_bytes() for path in here.iterdir()} == before


def test_in_python_too(here: Path) -> None:
    with pytest.raises(UserError, match=r"output .*trace\.h5: would replace .*trace\.h5"):
        gpusim.simulate("tiny", gpusim.load_workload("trace.h5"), output=here / "trace.h5")
