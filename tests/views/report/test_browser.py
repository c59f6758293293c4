"""The page in a real browser, without a network."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest

from gpusim.results import Result
from gpusim.views.plots import PALETTE
from tests.browser import CHROMIUM
from tests.quick import quick
from tests.views.report.reading import read

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")


@pytest.fixture
def page(tmp_path: Path, several: Result, report_of: Callable[[Result], str]) -> Path:
    path = tmp_path / "page.html"
    path.write_text(report_of(several), encoding="utf-8")
    return path


def browse(page: Path, *options: str) -> subprocess.CompletedProcess[str]:
    profile = page.parent / "profile"
    profile.mkdir()
    return subprocess.run(
        [
            str(CHROMIUM),
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--hide-scrollbars",
            "--enable-logging=stderr",
            f"--user-data-dir={profile}",
            "--virtual-time-budget=2000",
            *options,
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )


def test_the_browser_finds_all_headings(page: Path) -> None:
    outcome = browse(page, "--dump-dom")
    written, found = read(page.read_text(encoding="utf-8")), read(outcome.stdout)
    headings = [one.text for one in written.all("h1", "h2", "h3", "caption", "summary")]
    assert [one.text for one in found.all("h1", "h2", "h3", "caption", "summary")] == headings
    assert len(headings) > 15
    assert "CONSOLE" not in outcome.stderr, "it complains of nothing, such as its own policy"


@pytest.mark.long
@pytest.mark.parametrize("scheme", quick(["light", "dark"], "dark"))
def test_the_browser_draws_the_page(page: Path, scheme: str) -> None:
    picture = page.with_suffix(".png")
    preferred = f"--blink-settings=preferredColorScheme={['dark', 'light'].index(scheme)}"
    browse(page, f"--screenshot={picture}", "--window-size=1100,3200", preferred)
    pixels = matplotlib.image.imread(picture)[..., :3]
    assert pixels.shape == (3200, 1100, 3)
    background = pixels[5, 5]
    assert (background.mean() > 0.9) == (scheme == "light")
    assert 0.02 < np.any(abs(pixels - background) > 0.1, axis=2).mean() < 0.9
    blue = np.array([int(PALETTE[0][place : place + 2], 16) / 255 for place in (1, 3, 5)])
    lines = np.all(abs(pixels - blue) < 0.04, axis=2)
    assert lines.sum() > 1000, "the lines of the timeline, which nothing else has in this colour"
