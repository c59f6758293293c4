"""SASS opcodes and modifiers that a run does not honour: why, and which ones are plain arithmetic.

What is in none of these tables and accesses no memory is an opcode that gpusim does not know.  The
names are those of NVIDIA's CUDA Binary Utilities (instruction sets of Maxwell to Blackwell) and of
Accel-Sim's tables (Kepler to Ampere).
"""

from __future__ import annotations

from gpusim.traces.cache_operators import CacheOperator, cache_operator

NO_ADDRESSES = "accesses not in the trace, not modelled"
CONSTANTS = "loads of constants, counted as arithmetic"
CACHE_CONTROL = "cache control, not modelled"
EVICTION_HINTS = "eviction priorities, not modelled"
L2_PREFETCH = "prefetches to L2 of more than is read, not modelled"
PREFETCHES = "prefetches, not modelled"
FENCES = "memory fences, not modelled: they wait for nothing"
MBARRIERS = "barriers in shared memory: a warp waits there for its own copies in bulk alone"
NAMED_BARRIERS = "barriers of some of a block's warps: they wait for all of them"
CLUSTERS = "clusters of blocks, not modelled"
TENSOR_MEMORY = "accesses to tensor memory, counted as arithmetic"
SLEEPS = "waits for a time, not modelled"
DEPENDENT_LAUNCHES = "launches that overlap by their program, not modelled"
REGISTERS = "registers moved between warps, not modelled"
MULTICAST = "copies to several blocks: one block gets them"
LOOPS = "marks of loops that wait, not modelled: they are read once"
WIDTHS = "the trace's width and the opcode's differ; see docs/traces.md#what-is-read"
UNKNOWN = "opcodes that gpusim does not know, counted as arithmetic"
NO_WINDOWS = "generic accesses, whose windows the header does not tell: taken for shared memory"
TAKEN_FOR_GLOBAL = "generic accesses, whose windows the trace does not tell: taken for global"
NO_THREADS = "masks with lanes beyond the threads of a block: executed as they stand"
FIELDS = "lines with fewer or more fields than their masks need, read from the first one on"
NOT_IN_FILE = "of which the file has no line: they do nothing"


def _words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


_BY_REASON = {
    NO_ADDRESSES: (
        "LDG LDGMC LDGSTS STG ATOMG RED REDG REDGMC TEX TEXS TLD TLDS TLD4 TLD4S TXD SULD SULDGA "
        "SUST SUSTGA SUATOM SURED LDL STL LDS LDSLK LDSM STS STSCUL STSM ATOMS LD ST ATOM UTMALDG "
        "UBLKCP UTMASTG UTMAREDG UBLKRED UREDGR USTGR STGMC"
    ),
    CONSTANTS: "LDC LDCU ULDC",
    CACHE_CONTROL: "CCTL CCTLL CCTLT UCCTL UTMACCTL",
    PREFETCHES: "PREFETCH UTMAPF UBLKPF",
    FENCES: "MEMBAR FENCE FENCE_G FENCE_S FENCE_T UMEMBAR",
    MBARRIERS: "SYNCS SYNCSU ARRIVES UTCBAR",
    CLUSTERS: "UCGABAR_ARV UCGABAR_WAIT UCGABAR_GET UCGABAR_SET CGABAR_ARV CGABAR_WAIT CGABAR_GET "
    "CGABAR_SET UGETNEXTWORKID STAS REDAS",
    TENSOR_MEMORY: "LDTM STTM LDT STT UTCCP UTCSHIFT LDTM_T UTCATOMSWS",
    SLEEPS: "NANOSLEEP NANOTRAP",
    DEPENDENT_LAUNCHES: "ACQBULK ACQSHMINIT PREEXIT",
    REGISTERS: "USETMAXREG",
    LOOPS: "REPLAY_START REPLAY_END",
}
UNMODELLED: dict[str, str] = {
    base: reason for reason, bases in _BY_REASON.items() for base in bases.split()
}
"""By base opcode, why a run does not do what it says; of accesses: if they have no addresses."""

ARITHMETIC = _words(
    "FADD FADD2 FADD32I FCHK FCMP FFMA FFMA2 FFMA32I FHADD FHFMA FMNMX FMNMX3 FMUL FMUL2 "
    "FMUL32I FSEL FSET FSETP FSWZ FSWZADD MUFU RRO HADD2 HADD2_32I HFMA2 HFMA2_32I HMNMX2 "
    "HMUL2 HMUL2_32I HSET2 HSETP2 VHMNMX BMMA DMMA HMMA IMMA OMMA QMMA HMMA_SP IMMA_SP "
    "QMMA_SP OMMA_SP BGMMA HGMMA IGMMA QGMMA UTCHMMA UTCIMMA UTCQMMA UTCOMMA UTCMXQMMA "
    "WARPGROUP WARPGROUPSET DADD DFMA DMNMX DMUL DSET DSETP BFE BFI BMSK BREV CLMAD FLO "
    "IABS IADD IADD2 IADD3 IADD32I IADD64 ICMP IDE IDP IDP4A IMAD IMADSP IMNMX IMUL IMUL32I "
    "ISAD ISCADD ISCADD32I ISET ISETP LEA LEA_HI LOP LOP3 LOP32I POPC SHF SHL SHR VABSDIFF "
    "VABSDIFF4 VADD VIADD VIADD2 VIADDMNMX VIMNMX VIMNMX3 VMAD VMNMX VSET VSETP VSHL VSHR "
    "XMAD UVIADD UVIMNMX UVIADDR UVIMNMX3 UIABS UVIADDMNMX F2F F2FP F2I F2IP FRND I2F I2FP "
    "I2I I2IP UF2FP UF2F UF2I UF2IP UFRND UI2F UI2FP UI2I UI2IP MOV MOV32I MOVM PRMT SEL "
    "SGXT SHFL IMOV UMOVM PLOP3 PSET PSETP P2R R2P CSET CSETP MATCH QSPC GENMETADATA "
    "SCATTER GATHER SPMETADATA R2UR REDUX CREDUX S2UR UBMSK UBREV UCLEA UFLO UIADD3 "
    "UIADD3_64 UIMAD UIMNMX UIMUL UISETP ULEA ULEPC ULOP ULOP3 ULOP32I UMOV UP2UR UPLOP3 "
    "UPOPC UPRMT UPSETP UR2UP USEL USGXT USHF USHL USHR UFADD UFFMA UFMUL UFMNMX UFSEL "
    "UFSET UFSETP VOTEU UCGABAR UIADD64 USETSHMSZ UVOTE UMUFU BMOV BPT BRA BREAK BRK BRX "
    "BRXU BSSY BSYNC CALL CONT EXIT JCAL JMP JMX JMXU KILL LONGJMP PBK PCNT PEXIT PLONGJMP "
    "PRET RET RPCMOV RTT SAM SSY SYNC WARPSYNC YIELD ELECT ENDCOLLECTIVE CALLREL RAM "
    "COLLECTIVE BRA_U B2R BAR CS2R CS2UR CSMTEST DEPBAR ERRBAR CGAERRBAR GETLMEMBASE "
    "LDGDEPBAR LEPC NOP PMTRIG R2B S2R SETCTAID SETLMEMBASE STP TTUCCTL TTUCLOSE TTUGO "
    "TTULD TTUMACROFUSE TTUOPEN TTUST UGETNEXTWARPID UTMACMDFLUSH VOTE VOTE_VTG TMML TXQ SUQUERY "
    "TXA TEXDEPBAR ISUB CAL SUBFM SUCLAMP SUEAU"
)
"""Base opcodes of instructions that read and write registers alone, or steer the warp."""

_HINTS = frozenset({"EF", "EL", "EU", "EN", "LU", "NA", "EFL2", "ELL2", "ENL2", "RML2"})


def unhonoured(opcode: str, accesses: bool) -> tuple[str, ...]:
    """What of an instruction a run does not honour, as reasons; empty: all of it is.

    Args:
        opcode: with its modifiers.
        accesses: whether it is executed as an access to memory.
    """
    base, *modifiers = opcode.split(".")
    if not accesses:
        if base == "BAR" and "ARV" in modifiers:
            return (NAMED_BARRIERS,)
        if cache_operator(opcode) == CacheOperator.INVALIDATE_L1:
            return ()
        if base in UNMODELLED:
            return (UNMODELLED[base],)
        return () if base in ARITHMETIC else (UNKNOWN,)
    reasons: tuple[str, ...] = (MBARRIERS,) if base in {"SYNCS", "ARRIVES"} else ()
    if not _HINTS.isdisjoint(modifiers):
        reasons += (EVICTION_HINTS,)
    if any(one.startswith("LTC") for one in modifiers):
        reasons += (L2_PREFETCH,)
    return reasons
