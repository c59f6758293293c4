"""Connects the probes of a machine with the tables that a run records."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

from gpusim.machine import Machine
from gpusim.machine.paging import Paging
from gpusim.runs.recorder import Recorder
from gpusim.runs.watching import watch_lifetimes, watch_sharing, watch_tlb_misses


def listen(machine: Machine, recorder: Recorder) -> Callable[[], None]:
    """Connect the probes that somebody asked for; returns what to call at the end of the run."""
    if "intervals" in recorder.records:
        machine.on_interval.listen(recorder.interval)
    for walkers in (system.walkers for system in machine.systems):
        if "walks" in recorder.records:
            walkers.on_walk.listen(recorder.walk)
        if "walk_reads" in recorder.records:
            walkers.on_level_read.listen(recorder.walk_read)
    if "dram" in recorder.records:
        for channel in (channel for system in machine.systems for channel in system.channels):
            channel.on_request.listen(recorder.dram)
    if "requests" in recorder.records:
        for sm in machine.sms:
            sm.lsu.on_request.listen(recorder.request)
    for tlb in chain.from_iterable(machine.tlbs.values()):
        if "tlb" in recorder.records:
            tlb.on_lookup.listen(recorder.tlb)
        if "epochs" in recorder.records:
            tlb.on_epoch.listen(recorder.epoch)
    _listen_to_paging(machine.paging, recorder)
    return _watch(machine, recorder)


def _listen_to_paging(paging: Paging | None, recorder: Recorder) -> None:
    if paging is None:
        return
    if "fault_batches" in recorder.records:
        paging.driver.on_batch.listen(recorder.fault_batch)
    if "transfers" in recorder.records:
        paging.link.on_transfer.listen(recorder.transfer)


def _watch(machine: Machine, recorder: Recorder) -> Callable[[], None]:
    """Look into TLBs and caches as far as somebody asked for it; returns as `_listen`."""
    if "tlb_misses" in recorder.records:
        watch_tlb_misses(machine, recorder.tlb_miss)
    if "sharing" in recorder.records:
        watch_sharing(machine, recorder.sharing)
    if "synonym_faults" in recorder.records and machine.fbt is not None:
        machine.fbt.on_fault.listen(recorder.synonym_fault)
    if "lifetimes" in recorder.records:
        return watch_lifetimes(machine, recorder.lifetime)
    return lambda: None
