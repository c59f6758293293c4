"""DRAM: address mapping, bank timing, queue policies, and the controller of a channel.

`controller` is the process of a channel.  `commands` holds its parts together: the queues
(`read_write_queues`, `queue` and its policies), what each bank needs next (`plan`), which command
goes next (`chooser`), and what a command does (`issuer`) to banks (`bank`, `timing`), command bus
(`bus`) and refresh (`refresh`).
"""

from gpusim.hardware.dram.atlas import Atlas
from gpusim.hardware.dram.build import build_dram, check_dram
from gpusim.hardware.dram.completion import Completion
from gpusim.hardware.dram.controller import DramChannel
from gpusim.hardware.dram.fr_rr_fcfs import FrRrFcfs
from gpusim.hardware.dram.golden_silver_normal import GoldenSilverNormal
from gpusim.hardware.dram.ideal import IdealDramChannel
from gpusim.hardware.dram.mapping import AddressMapping
from gpusim.hardware.dram.pressure import TranslationPressure
from gpusim.hardware.dram.queue import DramQueue, Fcfs, FrFcfs
from gpusim.hardware.dram.tcm import Tcm
from gpusim.hardware.dram.use import ChannelUse
from gpusim.hardware.dram.waiting import Waiting

__all__ = [
    "AddressMapping",
    "Atlas",
    "ChannelUse",
    "Completion",
    "DramChannel",
    "DramQueue",
    "Fcfs",
    "FrFcfs",
    "FrRrFcfs",
    "GoldenSilverNormal",
    "IdealDramChannel",
    "Tcm",
    "TranslationPressure",
    "Waiting",
    "build_dram",
    "check_dram",
]
