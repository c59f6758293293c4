"""Reads a trace back by the rules that Perfetto documents for track events.

Events are sorted by time, those of equal times stay in the order of the file; the end of a slice
ends what was begun last on its track; arrows follow the slices of a flow in the order in which they
begin.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from attrs import define, field
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TracePacket, TrackEvent

TrackPath = tuple[str, ...]


@define(eq=False)
class Slice:
    """A slice: `track` is its path of names, `parent` the slice around it."""

    track: TrackPath
    name: str
    category: str
    begin: int
    parent: Slice | None
    arguments: dict[str, Any]
    end: int | None = None
    flows: list[int] = field(factory=list)


class ReadTrace:
    """What a trace says.

    Attributes:
        packets: how many there are.
        tracks: paths of names of all tracks, by their places in the tree.
        slices: by begin.
        counters: cycles and values, by path of the counter.
        units: of the counters.
        flows: the slices of each flow.
    """

    def __init__(self, path: Path) -> None:
        trace = Trace()
        trace.ParseFromString(path.read_bytes())
        self.packets = len(trace.packet)
        self.slices: list[Slice] = []
        self.counters: dict[TrackPath, list[tuple[int, float]]] = {}
        self.units: dict[TrackPath, str] = {}
        self.flows: dict[int, list[Slice]] = defaultdict(list)
        self._texts: dict[str, dict[int, str]] = defaultdict(dict)
        self._paths: dict[int, TrackPath] = {}
        ranks: dict[TrackPath, tuple[int, ...]] = {(): ()}
        events: list[TracePacket] = []
        assert trace.packet[0].sequence_flags & TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        for packet in trace.packet:
            assert packet.trusted_packet_sequence_id == 1
            self._intern(packet)
            if packet.HasField("track_descriptor"):
                descriptor = packet.track_descriptor
                parent = self._paths[descriptor.parent_uuid] if descriptor.parent_uuid else ()
                name = (*parent, descriptor.name)
                assert descriptor.uuid not in self._paths
                assert name not in ranks
                self._paths[descriptor.uuid] = name
                ranks[name] = (*ranks[parent], descriptor.sibling_order_rank)
                if descriptor.HasField("counter"):
                    self.units[name] = descriptor.counter.unit_name
                    self.counters[name] = []
            elif packet.HasField("track_event"):
                assert packet.HasField("timestamp")
                assert packet.track_event.track_uuid in self._paths, "announced before"
                self._check_texts(packet)
                events.append(packet)
        self.tracks = sorted(set(self._paths.values()), key=ranks.__getitem__)
        self._play(sorted(events, key=lambda packet: packet.timestamp))

    def _intern(self, packet: TracePacket) -> None:
        for kind in ("event_names", "event_categories", "debug_annotation_names"):
            for text in getattr(packet.interned_data, kind):
                assert text.iid not in self._texts[kind]
                self._texts[kind][text.iid] = text.name

    def _check_texts(self, packet: TracePacket) -> None:
        event = packet.track_event
        if event.name_iid or event.category_iids:
            assert packet.sequence_flags & TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
            assert not event.name_iid or event.name_iid in self._texts["event_names"]
            assert set(event.category_iids) <= self._texts["event_categories"].keys()

    def _play(self, events: list[TracePacket]) -> None:
        stacks: dict[TrackPath, list[Slice]] = defaultdict(list)
        for packet in events:
            event, cycle = packet.track_event, packet.timestamp
            track = self._paths[event.track_uuid]
            if event.type == TrackEvent.TYPE_COUNTER:
                self.counters[track].append((cycle, event.double_counter_value))
            elif event.type == TrackEvent.TYPE_SLICE_END:
                stacks[track].pop().end = cycle
            else:
                assert event.type == TrackEvent.TYPE_SLICE_BEGIN
                assert track not in self.counters
                found = self._slice(event, track, cycle, stacks[track])
                self.slices.append(found)
                stacks[track].append(found)
                for flow in found.flows:
                    self.flows[flow].append(found)
        assert not any(stacks.values()), "all slices end"

    def _slice(self, event: TrackEvent, track: TrackPath, cycle: int, stack: list[Slice]) -> Slice:
        arguments = {
            self._texts["debug_annotation_names"][one.name_iid]: getattr(
                one, one.WhichOneof("value")
            )
            for one in event.debug_annotations
        }
        name = self._texts["event_names"][event.name_iid] if event.name_iid else event.name
        (category,) = event.category_iids
        return Slice(
            track,
            name,
            self._texts["event_categories"][category],
            cycle,
            stack[-1] if stack else None,
            arguments,
            flows=list(event.flow_ids),
        )

    def below(self, *path: str) -> list[Slice]:
        """Slices on tracks whose paths, without the root, begin with `path`."""
        return [one for one in self.slices if one.track[1 : 1 + len(path)] == path]

    def value(self, counter: TrackPath, cycle: int) -> float:
        """Of a counter in a cycle: its last one."""
        return next((value for at, value in reversed(self.counters[counter]) if at <= cycle), 0.0)
