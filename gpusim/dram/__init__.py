"""DRAM: address mapping, bank timing, queue policies, and the controller of a channel."""

from gpusim.dram.build import build_dram
from gpusim.dram.controller import DramChannel
from gpusim.dram.fr_rr_fcfs import FrRrFcfs
from gpusim.dram.golden_silver_normal import GoldenSilverNormal
from gpusim.dram.ideal import IdealDramChannel
from gpusim.dram.mapping import AddressMapping
from gpusim.dram.pressure import TranslationPressure
from gpusim.dram.queue import DramQueue, Fcfs, FrFcfs, Waiting

__all__ = [
    "AddressMapping", "DramChannel", "DramQueue", "Fcfs", "FrFcfs", "FrRrFcfs",
    "GoldenSilverNormal", "IdealDramChannel", "TranslationPressure", "Waiting", "build_dram",
]  # fmt: skip
