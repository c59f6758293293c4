"""Widths in bits of the numbers that a machine's structures keep, to count their storage."""

from __future__ import annotations

from gpusim.config.schema import GpuConfig
from gpusim.core.structures import VIRTUAL_BITS, Dimensions, bits_for


def dimensions(config: GpuConfig) -> Dimensions:
    """The widths of page numbers, frame numbers and other fields in a machine."""
    offset = bits_for(config.memory.page)
    return Dimensions(
        page_bits=VIRTUAL_BITS - offset,
        frame_bits=bits_for(config.memory.size) - offset,
        sms=config.sm.count,
        block_slots=config.sm.max_blocks,
        page_table_levels=config.memory.levels,
        index_bits=bits_for(config.memory.table_entries),
    )
