"""Chromium without a window, driven over a pipe: real clicks, pictures, widths and schemes."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)

_OPTIONS = (
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
    "--remote-debugging-pipe",
)


class Page:
    """A page in a browser, as the DevTools protocol shows it."""

    def __init__(self, write: int, read: int) -> None:
        self._write = write
        self._read = read
        self._rest = b""
        self._number = 0
        self._session: str | None = None
        self.complaints: list[str] = []
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self._ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._ask(f"{domain}.enable")

    def open(self, path: Path, width: int = 1200, height: int = 900, dark: bool = False) -> None:
        """Load a file and wait until it says that it is ready."""
        self.look(width, height, dark)
        self.visit(path.as_uri())

    def look(self, width: int, height: int, dark: bool) -> None:
        """Make the window so large, and tell pages which scheme the reader wants."""
        self._ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._ask("Emulation.setEmulatedMedia", features=[scheme])

    def visit(self, url: str) -> None:
        """Load an address and wait until the page says that it is ready."""
        self._ask("Page.navigate", url=url)
        self.until("document.body && document.body.dataset.ready === 'yes'")

    def value(self, script: str) -> Any:
        """What an expression is."""
        found = self._ask("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def until(self, script: str, seconds: float = 120) -> None:
        """Wait until an expression holds."""
        end = time.monotonic() + seconds
        while not self.value(script):
            assert time.monotonic() < end, f"never: {script}; {self.complaints}"
            time.sleep(0.05)

    def box(self, selector: str) -> dict[str, float]:
        """Where an element is in the window."""
        self.value(f"document.querySelector({selector!r}).scrollIntoView({{block: 'center'}})")
        found: dict[str, float] = self.value(
            f"(({{x, y, width, height}}) => ({{x, y, width, height}}))"
            f"(document.querySelector({selector!r}).getBoundingClientRect())"
        )
        return found

    def drag(self, begin: tuple[float, float], end: tuple[float, float]) -> None:
        """Press, move, let go."""
        self._mouse("mousePressed", *begin)
        for step in (0.3, 0.7, 1.0):
            place = (one + step * (other - one) for one, other in zip(begin, end, strict=True))
            self._mouse("mouseMoved", *place, buttons=1)
        self._mouse("mouseReleased", *end)
        self.settle()

    def click(self, x: float, y: float) -> None:
        """Once, with the left button."""
        self._mouse("mouseMoved", x, y, buttons=0)
        self._mouse("mousePressed", x, y)
        self._mouse("mouseReleased", x, y)
        self.settle()

    @contextmanager
    def inside_frame(self) -> Iterator[None]:
        """Meanwhile, all is about the page's only frame, which is closed off in a sandbox."""
        outside = self._session
        frame = self._frame()
        attached = self._ask("Target.attachToTarget", targetId=frame, flatten=True)
        self._session = attached["sessionId"]
        try:
            yield
        finally:
            self._session = outside

    def _frame(self, seconds: float = 120) -> str:
        """The only frame that has a process of its own; the browser's own do not count."""
        end = time.monotonic() + seconds
        while True:
            targets = self._ask("Target.getTargets")["targetInfos"]
            frames = [one for one in targets if one["type"] == "iframe"]
            of_pages = [one for one in frames if not one["url"].startswith("chrome")]
            if len(of_pages) == 1:
                return str(of_pages[0]["targetId"])
            assert time.monotonic() < end, targets
            time.sleep(0.05)

    def point(self, x: float, y: float) -> None:
        """Move the mouse there."""
        self._mouse("mouseMoved", x, y, buttons=0)
        self.settle()

    def press_on(self, selector: str) -> None:
        """Click on an element, near its corner."""
        box = self.box(selector)
        self.click(box["x"] + 5, box["y"] + 5)

    def type(self, selector: str, text: str) -> None:
        """Type a line into a field."""
        self.value(f"document.querySelector({selector!r}).focus()")
        self._ask("Input.insertText", text=text)
        for kind in ("keyDown", "keyUp"):
            self._ask(
                "Input.dispatchKeyEvent",
                type=kind,
                key="Enter",
                code="Enter",
                text="\r",
                windowsVirtualKeyCode=13,
            )
        self.settle()

    def press(self, key: str) -> None:
        """A key, wherever the focus is."""
        for kind in ("keyDown", "keyUp"):
            self._ask("Input.dispatchKeyEvent", type=kind, key=key)
        self.settle()

    def settle(self) -> None:
        """Wait until what was asked for is drawn."""
        self._ask(
            "Runtime.evaluate",
            awaitPromise=True,
            expression="new Promise((done) => requestAnimationFrame(() => "
            "requestAnimationFrame(() => done(1))))",
        )

    def screenshot(self, path: Path) -> None:
        """What the window shows."""
        path.write_bytes(base64.b64decode(self._ask("Page.captureScreenshot")["data"]))

    def _mouse(self, kind: str, x: float, y: float, buttons: int = 1) -> None:
        button = "none" if kind == "mouseMoved" and not buttons else "left"
        self._ask(
            "Input.dispatchMouseEvent",
            type=kind,
            x=x,
            y=y,
            button=button,
            buttons=buttons,
            clickCount=0 if kind == "mouseMoved" else 1,
        )

    def _ask(self, method: str, **told: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": told}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                result: dict[str, Any] = answer["result"]
                return result
            if answer.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
                self.complaints.append(json.dumps(answer["params"])[:500])

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            self._rest += os.read(self._read, 1 << 20)
        one, _, self._rest = self._rest.partition(b"\0")
        answer: dict[str, Any] = json.loads(one)
        return answer


@contextmanager
def browser(folder: Path) -> Iterator[Page]:
    """A browser with an empty profile and no network."""
    to_browser, write = os.pipe()
    read, from_browser = os.pipe()

    def pipes() -> None:  # Chromium reads commands from 3 and writes to 4
        here, there = os.dup(to_browser), os.dup(from_browser)
        os.dup2(here, 3)
        os.dup2(there, 4)

    process = subprocess.Popen(
        [str(CHROMIUM), *_OPTIONS, f"--user-data-dir={folder / 'profile'}"],
        preexec_fn=pipes,  # noqa: PLW1509  (there are no threads here)
        pass_fds=(3, 4),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(to_browser)
    os.close(from_browser)
    try:
        yield Page(write, read)
    finally:
        process.kill()
        process.wait(10)
        os.close(write)
        os.close(read)
