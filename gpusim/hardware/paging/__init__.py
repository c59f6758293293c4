"""Demand paging: faults, the driver on the host, the link, what leaves the device and what comes.

A walk that finds no page on the device is a fault (`page_faults`).  The host's driver (`driver`)
takes faults in batches, makes room in device memory (`device_memory`, `eviction`), moves pages
over the link (`link`, `prefetch`), and lets waiting requests walk again.  Pages may also stay with
the host (`host`), and come when they are accessed often (`access_counters`).
"""

from gpusim.hardware.paging.access_counters import AccessCounters
from gpusim.hardware.paging.access_monitor import WatchedWay
from gpusim.hardware.paging.device_memory import DeviceMemories, DeviceMemory
from gpusim.hardware.paging.driver import Driver
from gpusim.hardware.paging.driver_site import DriverSite
from gpusim.hardware.paging.eviction import Eviction
from gpusim.hardware.paging.fault import Fault, FaultBuffer
from gpusim.hardware.paging.host import HEADER_BYTES, HOST_BASE, HostMemory, RouteBeyond
from gpusim.hardware.paging.link import Link
from gpusim.hardware.paging.migration import Migration, Mover
from gpusim.hardware.paging.page_faults import FaultSite, PageFaults
from gpusim.hardware.paging.placement import Placement
from gpusim.hardware.paging.prefetch import PagePrefetch, Resident
from gpusim.hardware.paging.sharers import Sharers

__all__ = [
    "HEADER_BYTES",
    "HOST_BASE",
    "AccessCounters",
    "DeviceMemories",
    "DeviceMemory",
    "Driver",
    "DriverSite",
    "Eviction",
    "Fault",
    "FaultBuffer",
    "FaultSite",
    "HostMemory",
    "Link",
    "Migration",
    "Mover",
    "PageFaults",
    "PagePrefetch",
    "Placement",
    "Resident",
    "RouteBeyond",
    "Sharers",
    "WatchedWay",
]
