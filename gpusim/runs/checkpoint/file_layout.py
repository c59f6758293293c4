"""The layout of a checkpoint file: every dataset with its type, unit and meaning."""

from __future__ import annotations

from gpusim.files.columns import TEXT, Column, Table

FORMAT = "gpusim checkpoint"
"""The attribute `format` of every checkpoint."""

SCHEMA_VERSION = 1
"""The attribute `schema`.  A change that an older reader would misread raises it."""


def _text(name: str, description: str) -> Column:
    return Column(name, TEXT, "", description)


FACTS = Table(
    "What was skipped of what.",
    (
        _text("gpusim", "version of gpusim"),
        _text("model", "model on which it was made"),
        _text("workload", "workload file or name"),
        _text("scale", "problem size: smoke, quick or paper"),
        Column("seed", "i8", "1", "seed of all random choices"),
        _text("parameters", "the workload with all parameters, as TOML"),
        _text("skipped", "what of each application is skipped"),
    ),
)

REQUIRES = Table(
    "What a machine must be like to start from it.",
    (_text("key", "of the model"), _text("value", "of that key")),
)

APPLICATIONS = Table(
    "The applications of the workload.",
    (
        _text("name", "of the application"),
        Column("sms", "u4", "1", "SMs that it has"),
        _text("arrays", "SHA-256 over the contents of its arrays before its first launch"),
    ),
)

LAUNCHES = Table(
    "The launches that are skipped, application by application.",
    (
        Column("app", "u4", "1", "index of the application"),
        _text("kernel", "name of the kernel"),
        Column("blocks", "u8", "1", "thread blocks of the whole launch"),
        Column("threads_per_block", "u4", "1", "threads of a block"),
        Column("registers_per_thread", "u4", "1", "registers of a thread"),
        Column("shared_bytes", "u8", "bytes", "shared memory of a block"),
        Column("begun", "u8", "1", "blocks that are skipped, the first ones"),
        Column("instructions", "u8", "1", "warp instructions of them"),
        Column("pieces", "u8", "1", "rows of the table of pieces"),
        Column("pages", "u8", "1", "rows of the table of pages"),
        Column("changes", "u8", "1", "rows of the table of changes"),
        Column("values", "u8", "bytes", "rows of the table of values"),
    ),
)

PIECES = Table(
    "Pieces of blocks, in turn.",
    (Column("transactions", "i8", "1", "transactions of the piece; -1: the block has ended"),),
)

PAGES = Table(
    "Pages in the order in which they are first accessed.",
    (
        Column("page", "u8", "1", "virtual page number, in pages of 4 KiB"),
        Column("home", "u4", "1", "position of the SM among those of the application", older=0),
    ),
)

CHANGES = Table(
    "What launches change in arrays.",
    (
        Column("array", "u4", "1", "number of the array, in the order of allocation"),
        Column("start", "u8", "1", "first element"),
        Column("count", "u8", "1", "elements"),
    ),
)

VALUES = Table(
    "The new contents of what is changed.",
    (Column("value", "u1", "1", "a byte"),),
)

WHOLE = Table(
    "The last transactions, all of them, in order.",
    (
        Column("line", "i8", "1", "virtual line number, less that of the row before"),
        Column("sectors", "u2", "1", "32-byte sectors, a bit each; 8 bits above: those covered"),
        Column("kind", "u1", "1", "0: load, 1: store, 2: atomic, 3: reduction"),
    ),
)

LAST = Table(
    "Of the transactions before them, in order, the last of each kind to each line from each SM.",
    (
        Column("line", "i8", "1", "virtual line number"),
        Column("sectors", "u2", "1", "as in the other table, of all of them together"),
        Column("kind", "u1", "1", "as in the other table"),
        Column("home", "u2", "1", "position of the SM among those of the application"),
        Column("slot", "u2", "1", "block slot on the SM"),
    ),
)

STREAMS = {
    "pieces": PIECES,
    "pages": PAGES,
    "changes": CHANGES,
    "values": VALUES,
    "whole": WHOLE,
    "last": LAST,
}
"""Tables of each application, in a group that is named by its index."""
