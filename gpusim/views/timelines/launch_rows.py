"""Rows of kernel launches in pictures: one for each application and stream."""

from __future__ import annotations

from gpusim.results import Result


def launch_rows(result: Result) -> dict[tuple[str, int], str]:
    """Names of rows by application and stream; launches of one row never overlap.

    A row is named by its stream only where its application has launches in several.
    """
    names: dict[tuple[str, int], str] = {}
    launches = result.launches
    for app in result.applications.name:
        own = launches[launches.app == app]
        streams = sorted(set(own.stream.tolist())) if "stream" in own else [0]
        for stream in streams or [0]:
            names[app, stream] = f"{app}, stream {stream}" if len(streams) > 1 else app
    return names
