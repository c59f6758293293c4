"""The example of docs/programs.md runs as it stands."""

import re
from pathlib import Path

import numpy as np
import pytest

from gpusim.workloads.workload import load_workload
from tests import ROOT
from tests.programs.drain import drain

PAGE = ROOT / "docs" / "programs.md"


def test_the_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = PAGE.read_text(encoding="utf-8")
    for language, name in (("python", "axpy.py"), ("toml", "mine.toml")):
        (block,) = re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)
        (tmp_path / name).write_text(block)
    monkeypatch.syspath_prepend(str(tmp_path))
    (spec,) = load_workload(str(tmp_path / "mine.toml"), "smoke", seed=4).applications
    application = spec.start()
    before = application.memory.arrays[0].data.copy()
    assert drain(application) == ["axpy"]
    assert np.array_equal(application.memory.arrays[0].data, before + 3 * before)
    assert [buffer.bytes for buffer in application.buffers] == [4096, 4096]
