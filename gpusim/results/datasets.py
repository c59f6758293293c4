"""The layout of a result file: every dataset of a run with its type, unit and meaning.

What was recorded of single events is in `gpusim.results.event_tables`.  The page
docs/reference/results.md is made from both and checked against them by a test.
"""

from __future__ import annotations

from gpusim.files.columns import TEXT, Column, Table

FORMAT = "gpusim result"
"""The attribute `format` of every result file."""

CONVENTIONS = "CF-1.11"
"""The attribute `Conventions`: how datasets tell units, meanings and flags (cfconventions.org)."""

SCHEMA_VERSION = 2
"""The attribute `schema`.  A change that an older reader would misread raises it.

1: no names of axes; attributes ``unit`` and ``description`` of columns.
2: dimensions, ``units``, ``long_name`` and flags, as netCDF-4 and the CF conventions have them.
"""


def _text(name: str, description: str, many: bool = False, older: str | None = None) -> Column:
    return Column(name, TEXT, "", description, many, older)


PROVENANCE = Table(
    "What was run with what; lists have one element an entry, all others exactly one.",
    (
        _text("gpusim", "version of gpusim"),
        _text("form", "'compiled' or 'pure Python', with the same numbers", older="pure Python"),
        _text("model", "model file or name"),
        _text("variants", "variants in the order in which they were applied", many=True),
        _text("overrides", "keys that were set, 'key=value' or 'workload.key=value'", many=True),
        _text("workload", "workload file or name"),
        _text("scale", "problem size: smoke, quick or paper"),
        Column("seed", "i8", "1", "seed of all random choices"),
        _text("python", "version of Python"),
        _text("numpy", "version of numpy"),
        _text("simpy", "version of SimPy"),
        _text("command_line", "arguments of the process", many=True),
    ),
)

WALL = Table(
    "The run as an event of the real world: the only group in which equal runs differ.",
    (
        Column("seconds", "f8", "s", "wall-clock time of the simulation"),
        _text("finished", "when it ended, ISO 8601 in UTC"),
        _text("host", "name of the machine"),
        _text("platform", "operating system and processor of the machine"),
        Column("processors", "i8", "1", "logical processors of the machine"),
    ),
)

CONFIG = Table(
    "The fully resolved model.",
    (_text("toml", "the model after variants and overrides, as one TOML text"),),
)

WORKLOAD = Table(
    "The fully resolved workload; older files do not have it.",
    (_text("toml", "the applications with all parameters of their programs, as one TOML text"),),
)

ORIGINS = Table(
    "Where each value of the model came from.",
    (
        _text("key", "dotted key, such as tlb.L2.entries"),
        _text("origin", "file and table, variant, recipe, override or default"),
    ),
)

SUMMARY = Table(
    "Headline numbers; one that does not exist (0/0, no such component) has no row.",
    (
        _text("name", "of the number; '<application>/' in front where several share the GPU"),
        Column("value", "f8", "", "the number; its unit is in the column unit"),
        Column("whole", "u1", "1", "1 where the value is a count, read back as an int"),
        _text("unit", "its unit"),
        _text("description", "what it is"),
    ),
)

COUNTERS = Table(
    "All counters of all components.",
    (
        _text("component", "path in the machine, such as tlb/L2"),
        Column("instance", "u4", "1", "which of the components of that name"),
        _text("app", "application; empty for counters that belong to none"),
        _text("counter", "name"),
        Column("value", "i8", "", "its value at the end; its unit is in the column unit"),
        _text("unit", "its unit"),
        _text("description", "what it counts"),
    ),
)

ACTS = "policies/"
"""Paths of counters that say how often policies acted: their key in the model and class follow."""

WARNINGS = Table(
    "What a user should know, such as a policy that never came to act; older files have none.",
    (_text("text", "a sentence"),),
)

APPLICATIONS = Table(
    "The applications, in order: event tables name them by their position here.",
    (
        _text("name", "unique within the run"),
        Column("asid", "u2", "1", "address space"),
        Column("launches", "u4", "1", "kernel launches of the first complete run"),
        Column("blocks", "i8", "1", "thread blocks of the first complete run"),
        Column("warps", "i8", "1", "warps of the first complete run"),
        Column("end", "i8", "cycle", "cycle in which the first complete run ended"),
    ),
)

APPLICATION_SMS = Column("sms", "u1", "1", "(application, SM): 1 where the application runs")

LAUNCHES = Table(
    "Kernel launches, in the order in which they began.",
    (
        _text("app", "application"),
        Column("launch", "u4", "1", "number of the launch within the application"),
        _text("kernel", "name of the kernel"),
        Column("begin", "i8", "cycle", "cycle in which it began"),
        Column("end", "i8", "cycle", "cycle in which its last block had ended"),
        Column("blocks", "i8", "1", "thread blocks"),
        Column(
            "work_begin",
            "i8",
            "cycle",
            "cycle of its first block: after what a launch takes; older files lack it",
        ),
        Column("stream", "i8", "1", "its stream; 0: the default one; older files lack it"),
        Column("gpu", "i8", "1", "GPU of a node that it names; -1: all; older files lack it"),
    ),
)

KERNELS = Table(
    "Kernels, in the order of their first launches; older files do not have them.",
    (
        _text("app", "application"),
        _text("kernel", "name of the kernel"),
        Column("launches", "u4", "1", "launches"),
        Column("blocks", "i8", "1", "thread blocks of all its launches"),
    ),
)

LAUNCH_NUMBERS = Table(
    "Headline numbers of launches and kernels; older files do not have them.",
    (
        _text("name", "of the number"),
        _text("unit", "its unit"),
        _text("description", "what it is"),
        Column("whole", "u1", "1", "1 where its values are counts, read back as ints"),
    ),
)

OF_LAUNCHES = Column(
    "of_launches", "f8", "", "(launch, number): values; not a number where one does not exist"
)

OF_KERNELS = Column("of_kernels", "f8", "", "(kernel, number): values, of all launches together")

STOPS = Table(
    "Rules by which applications were to be stopped; there only if the run had some.",
    (
        _text("app", "application"),
        _text("rule", "as it was written"),
        Column("met", "u1", "1", "1: it was stopped, and all its numbers are of a part of it"),
        Column("cycle", "i8", "cycle", "cycle in which it was stopped, or ended by itself"),
        Column("instructions", "i8", "1", "warp instructions that it had issued until then"),
        Column("warps", "i8", "1", "warps that were in residence, with whatever they waited for"),
    ),
)

ESTIMATES = Table(
    "Of a sampled run, what is known of each headline number; there only if it was sampled.",
    (
        _text("name", "of the number"),
        Column("value", "f8", "", "its estimate, as in summary"),
        Column("low", "f8", "", "begin of its 95 % interval; not a number: it has none"),
        Column("high", "f8", "", "end of the interval"),
        Column("windows", "u4", "1", "windows that it was made of"),
        _text("refused", "why it has no interval; else empty"),
    ),
)

WINDOWS = Table(
    "Of a sampled run, what was measured in each window; there only if it was sampled.",
    (
        Column("window", "u4", "1", "number of the window"),
        _text("app", "application"),
        Column(
            "place", "i8", "1", "warp instructions of its program before the window; -1: not known"
        ),
        Column("launch", "u4", "1", "number of its launch"),
        Column("cycles", "i8", "cycle", "length of the application's part of the window"),
        Column("instructions", "i8", "1", "warp instructions that it issued in it"),
    ),
)

ARRAYS = Table(
    "Arrays of all applications, in the order of their allocation; older files lack it.",
    (
        _text("app", "application"),
        _text("name", "of the array, as the program has it"),
        Column("base", "i8", "B", "virtual byte address"),
        Column("bytes", "i8", "bytes", "its size"),
    ),
)

CODE = Table(
    "Places in the code of accesses, where a trace or a capture tells them and blame is recorded.",
    (
        _text("app", "application"),
        _text("kernel", "the function's name"),
        _text("file", "of the source; empty: not known"),
        Column("line", "i8", "1", "in it, from 1 on; 0: not known"),
        Column("pc", "i8", "1", "program counter in the kernel; -1: not known"),
        _text("text", "the instruction; empty: not known"),
    ),
)

STATES = _text("state", "names of the states of a warp; tables name them by their position here")

STATE_FAMILIES = _text(
    "family", "what it has in common with others: working, sm, memory or translation"
)

SMS = Column("sm", "u2", "1", "SMs, the first axis of warp_cycles")

STALL_APPLICATIONS = _text("application", "names of the applications, the second axis")

STATE_SUMS = Column(
    "warp_cycles", "i8", "warp-cycles", "(SM, application, state): cycles of warps in that state"
)
