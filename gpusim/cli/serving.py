"""`--serve`: a page to watch a run or a sweep on while it goes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpusim.core.errors import UserError

if TYPE_CHECKING:
    from gpusim.views.live import LiveRun

Serve = Annotated[
    int | None,
    typer.Option(
        "--serve",
        min=0,
        max=65535,
        metavar="PORT",
        help="Serve a page with the progress at this port of this machine (0: any free one).",
    ),
]
ServeAddress = Annotated[
    str | None,
    typer.Option(
        "--serve-address",
        metavar="ADDRESS",
        help="Serve that page at this address, too; readers need the token that is printed.",
    ),
]


@contextmanager
def serving(
    port: int | None,
    address: str | None,
    state: Callable[[], dict[str, Any]],
    command: Callable[[str, int], None] | None = None,
) -> Iterator[None]:
    """Serve a page meanwhile, if a port is given.

    Raises:
        UserError: the system refuses the address or port, or there is an address without a port.
    """
    if port is None:
        if address is not None:
            raise UserError(f"--serve-address {address}: needs a port, --serve PORT")
        yield
        return
    from gpusim.views.live.server import LOOPBACK, LiveServer

    server = LiveServer(port, state, command, address or LOOPBACK)
    print(f"watch it at {server.url}", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        server.close()


@contextmanager
def served_runs(port: int | None, address: str | None) -> Iterator[Callable[[str], LiveRun | None]]:
    """One page for runs, one after the other; gives a function that begins a run by its title.

    It returns None where there is no port.

    Raises:
        UserError: as `serving`.
    """
    if port is None:
        with serving(None, address, dict):
            yield lambda _title: None
        return
    from gpusim.views.live import LiveRun

    current = LiveRun("")

    def begin(title: str) -> LiveRun:
        nonlocal current
        current.end()
        current = LiveRun(title)
        return current

    def state() -> dict[str, Any]:
        return current.state()

    def command(name: str, cycles: int) -> None:
        current.command(name, cycles)

    with serving(port, address, state, command):
        try:
            yield begin
        finally:
            current.end()
