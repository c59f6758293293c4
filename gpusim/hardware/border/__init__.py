"""The border between SMs and the memory behind the crossbar, as two sides of a machine.

The SMs' side has the SMs with their TLBs and L1 caches, and the entrances of the network of
requests; the memory side has its links, the L2 cache, DRAM, the walkers, and the network of
replies.  Messages cross the border, and no object does: each side has its own of a request.
"""

from gpusim.hardware.border.memory_end import MemoryEnd, MemoryEndSite
from gpusim.hardware.border.sm_end import SmEnd, SmEndSite

__all__ = ["MemoryEnd", "MemoryEndSite", "SmEnd", "SmEndSite"]
