"""The layout of gpusim's own trace files, in HDF5; `docs/traces.md` says how to read them.

A row of an index table says where something begins; a last row says where the last one ends.
"""

from __future__ import annotations

from gpusim.files.columns import TEXT, Column, Table

FORMAT = "gpusim trace"
"""The attribute `format` of every trace file."""

SCHEMA_VERSION = 4
"""The newest attribute `schema`.  A change that an older reader would misread raises it."""

MOST_SCHEMA = (1 << 31) - 1
"""The largest number that a schema can have."""

WITHOUT_MACHINES = 3
"""The attribute `schema` of a file that has only what every machine asks of a program, and whose
programs map no pieces of arrays."""

WITHOUT_GPUS = 2
"""The attribute `schema` of a file that, besides, names no GPU of a node, and has no copies."""

WITHOUT_STREAMS = 1
"""The attribute `schema` of a file of which, besides, all launches are of the default stream."""

NO_GPU = -1
"""In place of the number of a GPU: none is named."""

APPLICATIONS = Table(
    "The applications, in the order of their address spaces.",
    (
        Column("name", TEXT, "", "unique in its workload"),
        Column("share", "f8", "1", "share of the SMs that it asks for; NaN: an equal part"),
        Column("instance", "i8", "1", "slices of its MIG instance; 0: none"),
        Column("gpu", "i8", "1", "the GPU of a node that it runs on; -1: all", older=NO_GPU),
    ),
)

BUFFERS = Table(
    "The arrays of all applications, in allocation order.",
    (
        Column("application", "u4", "1", "row in applications"),
        Column("name", TEXT, "", "for reports"),
        Column("base", "i8", "B", "virtual byte address"),
        Column("bytes", "i8", "B", "size"),
        Column(
            "gpu", "i8", "1", "of those of its application, where it lies; -1: any", older=NO_GPU
        ),
        Column(
            "piece",
            "i8",
            "B",
            "that mapping calls map at a time; 0: all of it is there",
            older=0,
        ),
    ),
)

LAUNCHES = Table(
    "The kernel launches of all applications, those of one in order.",
    (
        Column("application", "u4", "1", "row in applications"),
        Column("name", TEXT, "", "the kernel's name"),
        Column("blocks", "i8", "1", "thread blocks"),
        Column("threads_per_block", "i8", "1", "threads of a block"),
        Column("registers_per_thread", "i8", "1", "32-bit registers of a thread"),
        Column("shared_bytes", "i8", "B", "shared memory of a block"),
        Column(
            "gpu", "i8", "1", "of those of its application, that runs it; -1: all", older=NO_GPU
        ),
    ),
)

STREAMS = Table(
    "Streams of launches; there only if some launch names a stream or a GPU.",
    (
        Column("stream", "i8", "1", "stream of the launch of this row of launches; 0: default"),
        Column("host_waits", "u1", "1", "1: the program goes on when all launches have ended"),
        Column("after", TEXT, "", "rows of launches that it waits for, with spaces between them"),
    ),
)

COPIES = Table(
    "Launches that only move bytes, which copy engines may execute; there only if there are some.",
    (
        Column("launch", "i8", "1", "row in launches"),
        Column("source", "i8", "B", "virtual address of the first byte that is read"),
        Column("target", "i8", "B", "virtual address of the first byte that is written"),
        Column("bytes", "i8", "B", "how many"),
        Column("adds", "u1", "1", "1: numbers are added to those that are there"),
    ),
)

MAPPING_CALLS = Table(
    "Launches without blocks that map or unmap pieces of arrays; there only if there are some.",
    (
        Column("launch", "i8", "1", "row in launches"),
        Column("maps", "u1", "1", "1: pieces are mapped, 0: unmapped"),
        Column("bytes", "i8", "B", "of a piece"),
    ),
)

CALL_PIECES = Table(
    "The pieces of all mapping calls, those of one in their order.",
    (
        Column("call", "i8", "1", "row in mapping_calls"),
        Column("address", "i8", "B", "virtual address of its first byte"),
    ),
)

BLOCKS = Table(
    "The blocks of all launches: an index.",
    (Column("chunk", "i8", "1", "row in chunks"),),
)

CHUNKS = Table(
    "The pieces of blocks that are handed over at once: an index.",
    (
        Column("instruction", "i8", "1", "row in instructions"),
        Column("active", "i8", "1", "element of active"),
        Column("access", "i8", "1", "row in accesses"),
        Column("address", "i8", "1", "element of addresses"),
    ),
)

INSTRUCTIONS = Table(
    "The instructions of a chunk, each executed by some of its block's warps.",
    (
        Column("kind", "u1", "1", "operation, see gpusim.core.warp_program.Op"),
        Column("argument", "i8", "1", "its argument; of no meaning for memory operations"),
    ),
)

ACTIVE = Table(
    "Which warps execute an instruction: (instructions, warps) of a chunk, row by row.",
    (Column("warp", "u1", "1", "1: it does"),),
)

ACCESSES = Table(
    "The memory operations among the instructions.",
    (Column("size", "i8", "B", "bytes that each lane accesses"),),
)

ADDRESSES = Table(
    "Of each access: (accesses, warps, lanes) of a chunk, row by row.",
    (Column("lane", "i8", "B", "virtual byte address; -1: the lane takes no part"),),
)

ACCESS_PLACES = Table(
    "Of each access, its place in the code; there only if some are known.",
    (Column("place", "i8", "1", "row in code; -1: not known"),),
)

CODE = Table(
    "Places in the code; there only if some are known.",
    (
        Column("application", "u4", "1", "row in applications"),
        Column("kernel", TEXT, "", "the function's name"),
        Column("file", TEXT, "", "of the source; empty: not known"),
        Column("line", "i8", "1", "in it, from 1 on; 0: not known"),
        Column("pc", "i8", "1", "program counter in the kernel; -1: not known"),
        Column("text", TEXT, "", "the instruction; empty: not known"),
    ),
)

GROWING = {
    "blocks": BLOCKS,
    "chunks": CHUNKS,
    "instructions": INSTRUCTIONS,
    "active": ACTIVE,
    "accesses": ACCESSES,
    "addresses": ADDRESSES,
}
"""The groups that are written block by block."""
