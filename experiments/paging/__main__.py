"""What demand paging costs: less and less room, ways to prefetch, batches and the link over time.

``gpusim study paging`` prints the tables; with ``--doc`` it writes them into the page
docs/paging.md, and pictures and data beside it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console
from rich.progress import track

from experiments.marked import tell
from experiments.paging.pictures import draw
from experiments.paging.study import points, run
from experiments.paging.tables import parts, prefetch_data


def main() -> None:
    """Run all points, one after the other, and print or write what they show."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--doc", type=Path, help="page whose tables are replaced")
    arguments = parser.parse_args()
    waiting = track(list(points()), "running", console=Console(stderr=True))
    runs = {(program, name): run(program, settings) for program, name, settings in waiting}
    for name, text in parts(runs):
        tell(arguments.doc, f"paging {name}", f"{text}\n")
    if arguments.doc is not None:
        draw(runs, arguments.doc.parent / "pictures")
        data = arguments.doc.parent / "tables" / "paging-prefetch.csv"
        prefetch_data(runs).to_csv(data, index=False, float_format="%.2f", lineterminator="\n")


if __name__ == "__main__":
    main()
