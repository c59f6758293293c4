"""What can be trusted: one page, and its summary in the README.

``gpusim study trust`` prints the page; ``--doc docs/trust.md`` writes it, from the pages
beside it; ``--readme README.md`` puts its one-line summary there.  Nothing is run.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from experiments.marked import write_marked
from experiments.trust.page import find, page, summary
from gpusim.core.errors import UserError
from gpusim.files.shipped import data_folder

MAINTENANCE = True
"""A study of gpusim itself: ``gpusim list maintenance`` has it."""

MARK = "trust"


def main(words: Sequence[str] | None = None) -> None:
    """Collect what the pages say, and print or write it.

    Args:
        words: of the command line; default: those that it was called with.
    """
    parser = argparse.ArgumentParser(description="What can be trusted, on one page.")
    parser.add_argument("--doc", type=Path, help="page to write, beside those it is made from")
    parser.add_argument("--readme", type=Path, help="page whose summary is replaced")
    arguments = parser.parse_args(words)
    docs = data_folder("experiments").parent / "docs"
    try:
        found = find(arguments.doc.parent if arguments.doc else docs)
        if arguments.doc is not None:
            arguments.doc.write_text(page(found), encoding="utf-8")
        if arguments.readme is not None:
            write_marked(arguments.readme, MARK, in_readme(summary(found)))
        if arguments.doc is None and arguments.readme is None:
            print(page(found), end="")
    except (UserError, OSError) as error:
        parser.exit(2, f"{error}\n")


def in_readme(line: str) -> str:
    """The summary, with a link to its page."""
    return f"**What can be trusted:** {line} More: [docs/trust.md](docs/trust.md)."


if __name__ == "__main__":
    main()
