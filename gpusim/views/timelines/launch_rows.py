"""Rows of kernel launches in pictures: one for each application, GPU and stream."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, TypeAlias

from gpusim.results import Result

LaunchRow: TypeAlias = tuple[str, int, int]
"""Application, GPU (-1: all), and stream."""


def row_of(launch: Mapping[Hashable, Any]) -> LaunchRow:
    """The row of a launch, of which older files know neither GPU nor stream."""
    return launch["app"], launch.get("gpu", -1), launch.get("stream", 0)


def launch_rows(result: Result) -> dict[LaunchRow, str]:
    """Names of rows; launches of one row never overlap.

    A row is named by its GPU and stream only where its application has launches in several.
    """
    names: dict[LaunchRow, str] = {}
    launches = [row_of(launch) for launch in result.launches.to_dict("records")]
    for app in map(str, result.applications.name):
        own = sorted({row for row in launches if row[0] == app}) or [(app, -1, 0)]
        gpus, streams = len({gpu for _, gpu, _ in own}), len({stream for _, _, stream in own})
        for row in own:
            _, gpu, stream = row
            of_gpu = "" if gpus == 1 else ", all GPUs" if gpu < 0 else f", GPU {gpu}"
            names[row] = app + of_gpu + (f", stream {stream}" if streams > 1 else "")
    return names
