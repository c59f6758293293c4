"""Packets of a Perfetto trace, written one after the other.

A trace is a protobuf message that has nothing but packets, and so a concatenation of traces of a
few packets each.  What reads it sorts all events by time, and those of equal times by their place
in the file: so where a slice begins in the cycle in which the one before it on its track ends, the
end must be written first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import BinaryIO

from attrs import frozen
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import (
    InternedData,
    Trace,
    TracePacket,
    TrackDescriptor,
    TrackEvent,
)

_SEQUENCE = 1
_FLUSH_BYTES = 1 << 20
_NAMES, _CATEGORIES, _ARGUMENTS = "event_names", "event_categories", "debug_annotation_names"


@frozen
class Label:
    """Name and category of slices, as numbers of texts that were written before."""

    name: int
    category: int


class TraceWriter:
    """Writes a trace; what it holds of it does not grow with the number of events.

    Times are cycles, and stand in the file as nanoseconds.

    Args:
        stream: where the packets go; `flush` sends the last ones.

    Attributes:
        packets: how many were written.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self.packets = 0
        self._stream = stream
        self._buffer = bytearray()
        self._tracks = 0
        self._texts: dict[str, dict[str, int]] = {_NAMES: {}, _CATEGORIES: {}, _ARGUMENTS: {}}
        self._write(TracePacket(sequence_flags=TracePacket.SEQ_INCREMENTAL_STATE_CLEARED))
        # Slices are by far the most: one message is filled in again and again.
        self._slice = Trace()
        self._begin, self._end = self._slice.packet.add(), self._slice.packet.add()
        for packet, kind in (
            (self._begin, TrackEvent.TYPE_SLICE_BEGIN),
            (self._end, TrackEvent.TYPE_SLICE_END),
        ):
            packet.trusted_packet_sequence_id = _SEQUENCE
            packet.track_event.type = kind
        self._begin.sequence_flags = TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
        self._begin.track_event.category_iids.append(0)

    def flush(self) -> None:
        """Hand all packets to the stream."""
        self._stream.write(self._buffer)
        self._buffer.clear()

    # -- tracks ----------------------------------------------------------------------------------

    def track(
        self,
        name: str,
        parent: int | None = None,
        *,
        rank: int | None = None,
        unit: str | None = None,
    ) -> int:
        """Announce a track, before anything is written to it.

        Args:
            name: what it is called.
            parent: the track under which it stands.
            rank: its place among the children of that one; None: behind those announced before.
            unit: of its values, if it is a counter.
        """
        self._tracks += 1
        track = TrackDescriptor(
            uuid=self._tracks,
            parent_uuid=parent,
            name=name,
            child_ordering=TrackDescriptor.EXPLICIT,
            sibling_order_rank=self._tracks if rank is None else rank,
        )
        if unit is not None:
            track.counter.unit_name = unit
        self._write(TracePacket(track_descriptor=track))
        return self._tracks

    # -- events ----------------------------------------------------------------------------------

    def label(self, name: str, category: str) -> Label:
        """Name and category of slices of which there will be many."""
        return Label(self._number(_NAMES, name), self._number(_CATEGORIES, category))

    def slice(self, track: int, label: Label, begin: int, end: int, flow: int = 0) -> None:
        """The cycles ``[begin, end)`` on a track, as one step of a flow if this is not 0."""
        packet = self._begin
        event = packet.track_event
        packet.timestamp = begin
        event.track_uuid = track
        event.name_iid = label.name
        event.category_iids[0] = label.category
        if flow:
            event.flow_ids.append(flow)
        packet = self._end
        packet.timestamp = end
        packet.track_event.track_uuid = track
        self._append(self._slice, 2)
        if flow:
            event.flow_ids.clear()

    def open(
        self,
        track: int,
        name: str,
        category: str,
        cycle: int,
        arguments: Mapping[str, int | str],
        flows: Iterable[int] = (),
    ) -> None:
        """Begin a slice that has arguments, and maybe slices inside; `close` ends it."""
        event = TrackEvent(
            type=TrackEvent.TYPE_SLICE_BEGIN,
            track_uuid=track,
            name=name,
            category_iids=(self._number(_CATEGORIES, category),),
            flow_ids=flows,
        )
        for key, value in arguments.items():
            argument = event.debug_annotations.add(name_iid=self._number(_ARGUMENTS, key))
            if isinstance(value, str):
                argument.string_value = value
            else:
                argument.int_value = value
        self._event(cycle, event)

    def close(self, track: int, cycle: int) -> None:
        """End the slice that was begun last on the track and has not ended."""
        self._event(cycle, TrackEvent(type=TrackEvent.TYPE_SLICE_END, track_uuid=track))

    def count(self, track: int, cycle: int, value: float) -> None:
        """From `cycle` on, a counter has this value."""
        self._event(
            cycle,
            TrackEvent(type=TrackEvent.TYPE_COUNTER, track_uuid=track, double_counter_value=value),
        )

    # -- writing ---------------------------------------------------------------------------------

    def _event(self, cycle: int, event: TrackEvent) -> None:
        self._write(
            TracePacket(
                timestamp=cycle,
                track_event=event,
                sequence_flags=TracePacket.SEQ_NEEDS_INCREMENTAL_STATE,
            )
        )

    def _number(self, kind: str, text: str) -> int:
        """The number of a text, which is written when it is first used."""
        known = self._texts[kind]
        if text not in known:
            known[text] = len(known) + 1
            interned = InternedData()
            getattr(interned, kind).add(iid=known[text], name=text)
            self._write(
                TracePacket(
                    interned_data=interned, sequence_flags=TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
                )
            )
        return known[text]

    def _write(self, packet: TracePacket) -> None:
        packet.trusted_packet_sequence_id = _SEQUENCE
        self._append(Trace(packet=(packet,)), 1)

    def _append(self, packets: Trace, count: int) -> None:
        self._buffer += packets.SerializeToString()
        self.packets += count
        if len(self._buffer) > _FLUSH_BYTES:
            self.flush()
