"""A page that shows a run and brakes it, for the browser that has its key alone."""

from __future__ import annotations

import json
import re
import socket
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from threading import enumerate as active_threads
from typing import Any

import pytest

import gpusim
from gpusim.cli.sweep_view import WatchedSweep
from gpusim.core.errors import UserError
from gpusim.studies.sweep.pause import Brake
from gpusim.studies.sweep.progress import SweepProgress
from gpusim.studies.sweep.run import run_sweep
from gpusim.views.live import LiveRun, LiveServer
from gpusim.views.live import server as live_server
from tests.browser import CHROMIUM, browser
from tests.whole.running import SMALLER, command

HEADERS = {"X-Gpusim": "1"}


def ask(url: str, data: dict[str, Any] | None = None, **headers: str) -> Any:
    body = None if data is None else json.dumps(data).encode()
    request = urllib.request.Request(url, body, headers)
    with urllib.request.urlopen(request, timeout=120) as answer:
        text = answer.read().decode()
    return json.loads(text) if text.startswith("{") else text


def refused(url: str, data: dict[str, Any] | None = None, **headers: str) -> tuple[int, str]:
    with pytest.raises(urllib.error.HTTPError) as told:
        ask(url, data, **headers)
    return told.value.code, told.value.read().decode()


class Runs:
    """A run in a thread of its own, that waits before its first cycle."""

    def __init__(self) -> None:
        self.live = LiveRun("bfs on tiny")
        self.live.command("pause", 1)
        self.server = LiveServer(0, self.live.state, self.live.command)
        self.result: gpusim.Result | None = None
        self.thread = Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        work = gpusim.load_workload("bfs", "smoke", overrides=SMALLER["bfs"])
        self.result = gpusim.simulate(gpusim.load_model("tiny"), work, attach=self.live.attach)
        self.live.end()

    def command(self, **told: Any) -> Any:
        return ask(f"{self.server.url}command", told, **HEADERS)

    def at(self, cycle: int) -> dict[str, Any]:
        while True:
            state: dict[str, Any] = ask(f"{self.server.url}state")
            if state["paused"] and state["cycle"] == cycle:
                return state


@pytest.fixture
def runs() -> Iterator[Runs]:
    found = Runs()
    yield found
    found.live.command("continue", 1)
    found.thread.join(60)
    found.server.close()


def test_steps_stop_at_their_cycle_and_the_result_is_the_same(runs: Runs) -> None:
    runs.at(0)
    for step, cycle in ((1, 1), (999, 1000), (2500, 3500)):
        assert runs.command(command="step", cycles=step) == {"done": "step"}
        state = runs.at(cycle)
    assert state["warps"][2] > 0
    assert set(state["in_flight"]) >= {"lsu", "walk", "dram"}
    assert state["waiting"], "components wait in the middle of a run"
    assert [one["cycle"] for one in state["history"]][-1] == 3500
    runs.command(command="continue")
    runs.thread.join(60)
    assert ask(f"{runs.server.url}state")["done"]
    assert runs.result is not None
    work = gpusim.load_workload("bfs", "smoke", overrides=SMALLER["bfs"])
    alone = gpusim.simulate(gpusim.load_model("tiny"), work)
    assert runs.result.digest == alone.digest


def test_what_is_no_command_is_refused(runs: Runs) -> None:
    url = f"{runs.server.url}command"
    assert refused(url, {"command": "pause"})[0] == 403, "a page of another site could send this"
    for told in ({"command": "kill"}, {"command": "step", "cycles": 0}, {}, {"command": ["pause"]}):
        code, why = refused(url, told, **HEADERS)
        assert (code, "pause, step, continue" in why or "JSON" in why) == (400, True)
    assert refused(f"{runs.server.url}secrets")[0] == 404
    assert refused(f"{runs.server.url}state", Host="evil.example")[0] == 403


def test_others_need_the_token() -> None:
    server = LiveServer(0, lambda: {"title": "t"}, address="0.0.0.0")
    try:
        url = f"http://127.0.0.1:{server.port}/"
        assert refused(f"{url}state")[0] == 403
        assert refused(f"{url}state?token=wrong")[0] == 403
        assert ask(f"{url}state?token={server.token}") == {"title": "t"}
        assert len(server.token) > 16
    finally:
        server.close()


def test_many_clients_at_once_and_idle_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections that say nothing end; those of 200 clients at once are all answered."""
    monkeypatch.setattr(live_server._Handler, "timeout", 2.0)
    server = LiveServer(0, lambda: {"title": "t"})
    place = (server.address, server.port)
    request = f"GET /state HTTP/1.0\r\nHost: {server.address}:{server.port}\r\n\r\n".encode()
    idle = [socket.create_connection(place) for _ in range(live_server.MOST_CONNECTIONS)]
    clients = []
    try:
        for _ in range(200):
            clients.append(socket.create_connection(place, timeout=30))
            clients[-1].sendall(request)  # at once: who says nothing for long is gone
        assert live_server.MOST_CONNECTIONS < 200
        assert all(b'{"title": "t"}' in read_all(one) for one in clients)
    finally:
        for one in (*idle, *clients):
            one.close()
        server.close()


def test_idle_connections_take_no_more_than_their_share_of_files() -> None:
    server = LiveServer(0, dict)
    before = len(active_threads())
    idle = [socket.create_connection((server.address, server.port)) for _ in range(200)]
    while len(active_threads()) - before < live_server.MOST_CONNECTIONS:
        time.sleep(0.01)
    time.sleep(0.05)
    assert len(active_threads()) - before == live_server.MOST_CONNECTIONS
    server.close()
    for one in idle:
        one.close()


def test_a_client_that_goes_away_half_way_leaves_no_traceback(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Its body is cut off while it is read."""
    server = LiveServer(0, dict, lambda _name, _count: None)
    with socket.create_connection((server.address, server.port)) as client:
        head = f"Host: {server.address}:{server.port}\r\nX-Gpusim: 1\r\nContent-Length: 500"
        client.sendall(f"POST /command HTTP/1.0\r\n{head}\r\n\r\n{{".encode())
        gone = struct.pack("ii", 1, 0)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, gone)
        time.sleep(0.1)
    time.sleep(0.1)
    server.close()
    assert capfd.readouterr().err == ""


def read_all(client: socket.socket) -> bytes:
    return b"".join(iter(lambda: client.recv(4096), b""))


def test_nobody_listens_where_nobody_can() -> None:
    server = LiveServer(0, dict)
    with pytest.raises(UserError, match=f"cannot serve on 127.0.0.1:{server.port}"):
        LiveServer(int(server.port), dict)
    server.close()
    with pytest.raises(UserError, match="cannot serve on"):
        LiveServer(0, dict, address="no.such.host.invalid")


def test_a_sweep_tells_how_far_it_is() -> None:
    watched = WatchedSweep("study", iter([10.0, 20.0, 40.0]).__next__)
    assert watched.state()["total"] == 0
    told: list[SweepProgress] = []
    failures = (("nw", "no luck"),)
    progress = SweepProgress(10, 2, 3, 1, (("bfs", 4.26),), 60.0, failures)
    watched.also(told.append)(progress)
    assert told == [progress]
    assert watched.state() == {
        "title": "study",
        "kind": "sweep",
        "paused": False,
        "seconds": 30.0,
        "total": 10,
        "finished": 6,
        "reused": 2,
        "failed": 1,
        "failures": failures,
        "running": [["bfs", 4.3]],
        "runs_a_minute": 8.0,
        "seconds_left": 60.0,
        "done": False,
    }


def test_a_brake_lets_so_many_runs_begin() -> None:
    brake = Brake()
    assert (brake.room(4), brake.paused) == (4, False)
    brake.command("step", 2)
    assert brake.room(4) == 2
    assert brake.room(1) == 1
    brake.began()
    brake.began()
    assert (brake.room(4), brake.paused) == (0, True)
    brake.began()  # one that found its place before the brake was pulled
    assert brake.paused
    brake.command("continue", 1)
    assert brake.room(4) == 4
    brake.command("pause", 1)
    assert (brake.room(4), brake.paused) == (0, True)


class Sweeps:
    """A sweep of three runs in a thread of its own, none of which may begin."""

    def __init__(self, folder: Path) -> None:
        self.watched = WatchedSweep("sizes")
        self.watched.brake.command("pause", 1)
        self.server = LiveServer(0, self.watched.state, self.watched.brake.command)
        self.folder = folder
        self.thread = Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        sizes = gpusim.Sweep(
            name="sizes",
            models="tiny",
            workloads="nw",
            scale="smoke",
            set={"workload.n": [32, 48, 64]},
        )
        report = self.watched.also(lambda _: None)
        run_sweep(sizes, self.folder, jobs=1, progress=report, brake=self.watched.brake)


@pytest.fixture
def sweeps(tmp_path: Path) -> Iterator[Sweeps]:
    found = Sweeps(tmp_path / "runs")
    yield found
    found.watched.brake.command("continue", 1)
    found.thread.join(60)
    found.server.close()


@pytest.mark.long
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
def test_a_sweep_is_stepped_with_real_clicks(sweeps: Sweeps, tmp_path: Path) -> None:
    with browser(tmp_path) as page:
        page.visit(sweeps.server.url)
        page.until("document.body.dataset.paused === 'yes'")
        page.until("document.querySelector('#numbers').textContent.includes('0 of 3')")
        for place in (1, 2):
            page.press_on("#step")
            page.until(f"document.body.dataset.finished === '{place}'")
            assert not ask(f"{sweeps.server.url}state")["running"], "one run, and no other"
        assert len(list((tmp_path / "runs").rglob("*.h5"))) == 2
        page.press_on("#continue")
        sweeps.thread.join(60)
        page.until("document.querySelector('#status').textContent === 'all runs have ended'")
        assert not page.complaints


def test_the_command_serves_and_stops(tmp_path: Path) -> None:
    words = ["run", "tiny", "launches", "--scale", "smoke"]
    line = [sys.executable, "-m", "gpusim", *words, "--serve", "0"]
    done = subprocess.run(line, check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0
    assert re.search(r"watch it at http://127\.0\.0\.1:\d+/\n", done.stderr)
    wrong = command(*words, "--serve-address", "127.0.0.1", code=2)
    assert "needs a port" in wrong.stderr


@pytest.mark.long
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
def test_the_page_steps_with_real_clicks(runs: Runs, tmp_path: Path) -> None:
    runs.at(0)
    with browser(tmp_path) as page:
        page.visit(runs.server.url)
        page.until("document.body.dataset.paused === 'yes'")
        for place in (1000, 2000):
            page.press_on("#step")
            page.until(f"document.body.dataset.cycle === '{place}'")
        assert page.value("document.querySelector('#title').textContent") == "bfs on tiny"
        assert "What waits for what now" in page.value("document.body.textContent")
        page.press_on("#continue")
        page.until("document.querySelector('#status').textContent === 'the run has ended'")
        assert not page.complaints


@pytest.mark.long
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
def test_the_page_is_narrow_and_dark_where_it_should(runs: Runs, tmp_path: Path) -> None:
    import matplotlib.image

    runs.at(0)
    runs.command(command="step", cycles=1500)
    runs.at(1500)
    with browser(tmp_path) as page:
        for dark in (False, True):
            page.look(width=420, height=900, dark=dark)
            page.visit(runs.server.url)
            page.until("document.querySelectorAll('canvas').length === 2")
            assert page.value("document.documentElement.scrollWidth") <= 420
            page.screenshot(tmp_path / "page.png")
            pixels = matplotlib.image.imread(tmp_path / "page.png")[..., :3]
            assert (pixels[2, 2].mean() < 0.3) == dark
