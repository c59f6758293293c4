"""What calls take that map and unmap memory, as data: the table ``[mapping_calls]`` of a model."""

from __future__ import annotations

from attrs import frozen

from gpusim.files.units import Duration, parse_duration

MAP = parse_duration("69us")
"""cuMemCreate 29 µs, cuMemMap 2 and cuMemSetAccess 38, of 2 MiB on an A100: Prabhu et al.,
"vAttention", ASPLOS 2025, Table 3."""

UNMAP = parse_duration("57us")
"""cuMemUnmap 34 µs and cuMemRelease 23: the same table."""


@frozen
class MappingCallsConfig:
    """Times of the host's driver for one piece of an array, one after the other.

    What is unmapped is shot down as well, which `[shootdown]` says the time of.

    Attributes:
        map: until a piece has memory, and may be accessed.
        unmap: until a piece's translations are to be forgotten, and its memory is free.
    """

    map: Duration = MAP
    unmap: Duration = UNMAP
