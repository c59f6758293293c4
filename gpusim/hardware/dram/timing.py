"""DRAM timing in whole DRAM clocks."""

from __future__ import annotations

import attr
from attrs import fields

from gpusim.config.dram import DramConfig
from gpusim.core.errors import UserError


@attr.s(auto_attribs=True, eq=False, repr=False)
class Timing:
    """`gpusim.config.dram.DramTiming` in DRAM clocks, and what follows from it.

    Attributes:
        read_latency, write_latency: from a command to the end of its data.
        read_to_write: between a read and a write command of a rank.
        write_to_read_s, write_to_read_l: between a write and a read command of a rank, of other
            bank groups or of the same one.
        write_to_precharge: within a bank.
    """

    BL: int
    CL: int
    CWL: int
    RCDRD: int
    RCDWR: int
    RP: int
    RAS: int
    RC: int
    CCDS: int
    CCDL: int
    RRDS: int
    RRDL: int
    FAW: int
    WR: int
    WTRS: int
    WTRL: int
    RTP: int
    RFC: int
    REFI: int
    PPD: int
    A32W: int
    read_latency: int
    write_latency: int
    read_to_write: int
    write_to_read_s: int
    write_to_read_l: int
    write_to_precharge: int

    @staticmethod
    def of(config: DramConfig) -> Timing:
        """The timing of a DRAM table.

        Raises:
            UserError: constraints that contradict each other.
        """
        table = config.timing
        t: dict[str, int] = {
            one.name: getattr(table, one.name).cycles(config.clock) for one in fields(type(table))
        }
        for key in ("BL", "CL", "RP", "RCDRD", "RCDWR", "CCDS"):
            if t[key] < 1:
                raise UserError(f"dram.timing.{key}: {t[key]} clocks; allowed: 1 or more")
        for small, large in (("CCDS", "CCDL"), ("RRDS", "RRDL"), ("WTRS", "WTRL"), ("BL", "CCDS")):
            if t[small] > t[large]:
                raise UserError(
                    f"dram.timing.{large}: {t[large]} clocks are less than {small}, {t[small]}"
                )
        if 0 < t["REFI"] <= config.pseudo_channels * (t["RFC"] + t["RP"] + t["RC"]):
            raise UserError(f"dram.timing.REFI: {t['REFI']} clocks leave no time between refreshes")
        return Timing(
            **t,
            read_latency=t["CL"] + t["BL"],
            write_latency=t["CWL"] + t["BL"],
            read_to_write=max(t["CL"] + t["CCDS"] + 2 - t["CWL"], 1),
            write_to_read_s=t["CWL"] + t["BL"] + t["WTRS"],
            write_to_read_l=t["CWL"] + t["BL"] + t["WTRL"],
            write_to_precharge=t["CWL"] + t["BL"] + t["WR"],
        )
