"""Events of pages: what an operating system and CPUs do to them while a machine runs.

An events file has one JSON object a line.  What happens to a page that is with the host, or in a
piece of an array that its program has not mapped, is of no effect::

    {"at": 20000, "event": "remap", "address": "0x100000000"}
    {"at": 30000, "event": "synonym", "address": "0x100000000", "of": "0x100001000"}
    {"at": 40000, "event": "protect", "address": "0x100002000", "permission": "read"}
    {"at": 50000, "event": "probe", "address": "0x100002080"}
    {"at": 60000, "event": "shootdown"}
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attrs import frozen

from gpusim.config.shootdown import shootdown_parts
from gpusim.core.errors import UserError, nearest
from gpusim.core.mapping import ASID_SHIFT, VPN_MASK
from gpusim.core.untrusted import file_bytes, untrusted
from gpusim.machine import Machine, Tenant

PERMISSIONS: Mapping[str, bool] = {"read": False, "read-write": True}
"""Permissions of a page, and whether it may be written."""

KEYS: Mapping[str, tuple[str, ...]] = {
    "remap": ("address",),
    "unmap": ("address",),
    "synonym": ("address", "of"),
    "protect": ("address", "permission"),
    "probe": ("address",),
    "shootdown": (),
}
"""Kinds of events, and what each needs beside ``at`` (and ``app``)."""

VIRTUAL_ONLY = ("protect", "probe")
"""Events that only virtual caches follow: physical caches have no permissions, and no copies of
pages that a CPU could ask for."""


@frozen(eq=False, repr=False)
class PageEvent:
    """Something that happens to a page.

    Attributes:
        at: cycle.
        event: ``"remap"`` (its page gets another frame), ``"unmap"`` (it is taken away, and
            mapped anew when it is asked for), ``"synonym"`` (it gets the frame of another page),
            ``"protect"`` (it gets a permission), ``"probe"`` (a CPU takes a line away) or
            ``"shootdown"`` (all pages); all but a probe end with a shootdown.
        app: index of the application.
        address: virtual byte address.
        of: that of the page whose frame it gets.
        writable: whether its page may be written.
    """

    at: int
    event: str
    app: int = 0
    address: int = 0
    of: int = 0
    writable: bool = True


def read_events(path: str | os.PathLike[str], tenants: Sequence[Tenant]) -> list[PageEvent]:
    """The events of a file, by their cycles.

    Raises:
        UserError: it cannot be read, or a line is no event; the message names the line, the key
            and what is allowed.
    """
    events = []
    with untrusted(f"the events file {path}", "cannot be read"):
        file_bytes(Path(path), "cannot read the events file")
        with Path(path).open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    with _in_line(f"{path}, line {number}"):
                        events.append(_event(line, tenants))
    return sorted(events, key=lambda event: event.at)


@contextmanager
def _in_line(place: str) -> Iterator[None]:
    """Errors inside name the line."""
    try:
        with untrusted(place, "is no event"):
            yield
    except UserError as error:
        reason = str(error)
        raise UserError(reason if reason.startswith(place) else f"{place}: {reason}") from error


def play(machine: Machine, events: Sequence[PageEvent]) -> Generator[int, None, None]:
    """A process that lets events happen; those after the end of the program do not.

    One begins when the shootdown of the one before has been acknowledged.

    Raises:
        UserError: an event is of no effect on this machine.
    """
    for event in events:
        if not machine.fbts and event.event in VIRTUAL_ONLY:
            raise UserError(
                f"{machine.config.name} cannot have the event {event.event!r}: only virtual caches "
                "follow it, as in a variant with a table [fbt], such as vc of apu-hsa; allowed: "
                f"{', '.join(kind for kind in KEYS if kind not in VIRTUAL_ONLY)}"
            )
    return _play(machine, events)


def _play(machine: Machine, events: Sequence[PageEvent]) -> Generator[int, None, None]:
    message, rest = shootdown_parts(machine.config.shootdown, machine.config.clock)
    for event in events:
        if event.at > machine.env.now:
            yield event.at - machine.env.now
        shoots = event.event != "probe"
        if shoots and message:
            yield message
        if not machine.in_flight() or all(one.finished_at >= 0 for one in machine.schedulers):
            return
        _happen(machine, event)
        if shoots and rest:
            yield rest


def _happen(machine: Machine, event: PageEvent) -> None:
    table, pages = machine.page_table, machine.pages
    tag = event.app << ASID_SHIFT | event.address >> table.page_shift
    if event.event == "shootdown":
        pages.shoot_down(None)
    elif any(_is_away(machine, one) for one in _pages_of(event, table.page_shift)):
        return
    elif event.event == "probe":
        offset = event.address & ((1 << table.page_shift) - 1)
        frame = table.translate(event.app, tag & VPN_MASK)
        machine.fbts[event.app].purges.probe(frame << table.page_shift | offset)
    elif event.event == "protect":
        pages.protect(tag, writable=event.writable)
    elif event.event == "synonym":
        pages.remap(tag, table.translate(event.app, event.of >> table.page_shift))
    elif event.event == "unmap":
        pages.unmap(tag)
    else:
        pages.remap(tag)


def _is_away(machine: Machine, tag: int) -> bool:
    """Whether a page is not on the device now, so that what happens to it is no matter there.

    It is with the host, or one of an array whose pieces its program maps by itself.
    """
    table = machine.page_table
    return table.is_gone(tag) or (table.on_demand and machine.pages.find(tag) is None)


def _pages_of(event: PageEvent, page_shift: int) -> tuple[int, ...]:
    """The tagged pages that an event is about."""
    addresses = (event.address, event.of) if event.event == "synonym" else (event.address,)
    return tuple(event.app << ASID_SHIFT | one >> page_shift for one in addresses)


def _event(line: str, tenants: Sequence[Tenant]) -> PageEvent:
    try:
        found = json.loads(line)
    except json.JSONDecodeError as error:
        raise UserError(f"not a JSON object: {error}") from error
    if not isinstance(found, dict):
        raise UserError("not a JSON object")
    kind = str(found.get("event"))
    if kind not in KEYS:
        raise UserError(
            f"event = {kind!r}: not allowed{nearest(kind, KEYS)}; allowed: {', '.join(KEYS)}"
        )
    allowed = ("at", "event", "app", *KEYS[kind])
    for key in found:
        if key not in allowed:
            raise UserError(
                f"{key}: unknown key of {kind!r}{nearest(key, allowed)}; "
                f"allowed: {', '.join(allowed)}"
            )
    for key in ("at", *KEYS[kind]):
        if key not in found:
            raise UserError(f"{key}: is missing; {kind!r} needs it")
    at = found["at"]
    if type(at) is not int or at < 0:
        raise UserError(f"at = {at!r}: must be a cycle, 0 or more")
    app = _app(found.get("app"), tenants)
    permission = found.get("permission", "read-write")
    if permission not in PERMISSIONS:
        raise UserError(
            f"permission = {permission!r}: not allowed{nearest(str(permission), PERMISSIONS)}; "
            f"allowed: {', '.join(PERMISSIONS)}"
        )
    if kind == "unmap" and any(one.piece for one in tenants[app].application.buffers):
        raise UserError(
            f"event = 'unmap': {tenants[app].name} maps pieces of an array by itself, and no page "
            "of it comes back when it is asked for; allowed: "
            f"{', '.join(one for one in KEYS if one != 'unmap')}"
        )
    address, of = (
        _address(key, found[key], tenants[app]) if key in found else 0 for key in ("address", "of")
    )
    return PageEvent(at, kind, app, address, of, PERMISSIONS[permission])


def _app(name: Any, tenants: Sequence[Tenant]) -> int:
    names = [tenant.name for tenant in tenants]
    if name is None and len(names) == 1:
        return 0
    if name not in names:
        what = "is missing" if name is None else f"not there{nearest(str(name), names)}"
        raise UserError(f"app = {name!r}: {what}; allowed: {', '.join(names)}")
    return names.index(name)


def _address(key: str, value: Any, tenant: Tenant) -> int:
    """A virtual address: a number, a string with a hexadecimal one, or ``"buffer+bytes"``."""
    buffers = {buffer.name: buffer for buffer in tenant.application.buffers}
    address = -1
    if type(value) is int:
        address = value
    elif isinstance(value, str):
        name, _, offset = value.partition("+")
        base = buffers[name].base if name in buffers else 0
        try:
            address = base + int(offset or "0", 0) if name in buffers else int(value, 0)
        except ValueError:
            address = -1
    inside = (one.base <= address < one.base + one.bytes for one in buffers.values())
    if address < 0 or (buffers and not any(inside)):
        places = ", ".join(
            f"{one.name} {one.base:#x} to {one.base + one.bytes - 1:#x}" for one in buffers.values()
        )
        raise UserError(
            f'{key} = {value!r}: must be an address, "0x…" or "BUFFER+BYTES", in a buffer of '
            f"{tenant.name}: {places or 'it names none'}"
        )
    return address
