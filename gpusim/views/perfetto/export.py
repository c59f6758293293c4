"""A run as a trace file."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from gpusim.files.whole_files import whole_file
from gpusim.results import Result
from gpusim.views.perfetto.arrows import find_arrows
from gpusim.views.perfetto.counters import write_counters
from gpusim.views.perfetto.packets import TraceWriter
from gpusim.views.perfetto.view import View, view_of
from gpusim.views.perfetto.walks import write_walks
from gpusim.views.perfetto.warps import write_warps
from gpusim.views.timelines.events import require
from gpusim.views.timelines.launch_rows import launch_rows, row_of


def export(
    result: Result,
    path: str | os.PathLike[str],
    *,
    begin: int | None = None,
    end: int | None = None,
    sms: Iterable[int] | None = None,
) -> int:
    """Write a run, or a part of it, as a trace for Perfetto; a cycle becomes a nanosecond.

    Kernel launches and what each warp did are slices, page walks too if they were recorded.  With
    recorded requests, arrows join the walks with the warps that waited for them.  Counters tell
    how busy the machine was.

    Args:
        result: a run with recorded `intervals`.
        path: of the file, which is whole or absent afterwards.
        begin: first cycle; None: that of the run.
        end: cycle after the last; None: the end of the run.
        sms: SMs whose warps are wanted; None: all.

    Returns:
        the number of packets in the file.

    Raises:
        UserError: `intervals` were not recorded, there are no such cycles or SMs, or the file
            cannot be written.
    """
    require(result, "intervals")
    view = view_of(result, begin, end, sms)
    with whole_file(Path(path)) as stream:
        writer = TraceWriter(stream)
        _write(writer, result, view)
        writer.flush()
    return writer.packets


def _write(writer: TraceWriter, result: Result, view: View) -> None:
    """All of the trace; tracks stand in the order in which they are announced."""
    root = writer.track(result.provenance.title)
    _write_launches(writer, result, view, writer.track("kernels", root))
    gpu = writer.track("GPU", root)
    walkers = writer.track("walkers", root) if "walks" in result.tables else None
    dram = writer.track("DRAM", root) if "dram" in result.tables else None
    sms = {sm: writer.track(f"SM {sm}", root) for sm in view.sms}
    write_counters(writer, result, view, gpu, dram)
    arrows = find_arrows(result, view)
    write_warps(writer, result, view, arrows, sms)
    if walkers is not None:
        write_walks(writer, result, view, arrows, walkers)


def _write_launches(writer: TraceWriter, result: Result, view: View, parent: int) -> None:
    """The kernel launches, those of each application, GPU and stream on a track of its own."""
    tracks = {place: writer.track(name, parent) for place, name in launch_rows(result).items()}
    launches = view.within(result.launches, "begin", "end")
    for launch in launches.to_dict("records"):
        track = tracks[row_of(launch)]
        arguments = {"launch": launch["launch"], "blocks": launch["blocks"]}
        writer.open(track, launch["kernel"], "kernel", launch["begin"], arguments)
        writer.close(track, launch["end"])
