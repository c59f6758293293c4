"""DRAM: address mapping, bank timing, queue policies, and the controller of a channel."""

from gpusim.dram.build import build_dram
from gpusim.dram.controller import DramChannel
from gpusim.dram.ideal import IdealDramChannel
from gpusim.dram.mapping import AddressMapping
from gpusim.dram.queue import DramQueue, Fcfs, FrFcfs, Waiting

__all__ = [
    "AddressMapping", "DramChannel", "DramQueue", "Fcfs", "FrFcfs", "IdealDramChannel", "Waiting",
    "build_dram",
]  # fmt: skip
