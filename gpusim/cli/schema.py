"""`gpusim schema`: what editors need to complete and check files."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from gpusim.cli.options import begins
from gpusim.core.errors import UserError, nearest


def _kinds() -> Iterable[str]:
    from gpusim.studies.schemas import KINDS

    return KINDS


def schema(
    kind: Annotated[
        str,
        typer.Argument(help="model, recipe, workload or sweep", autocompletion=begins(_kinds)),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File (default: printed).")
    ] = None,
) -> None:
    """Print the JSON Schema of a kind of files, for editors."""
    from gpusim.files.whole_files import whole_file
    from gpusim.studies.schemas import KINDS, schema_of

    if kind not in KINDS:
        raise UserError(
            f"there are no files named {kind!r}{nearest(kind, KINDS)}; allowed: {', '.join(KINDS)}"
        )
    text = json.dumps(schema_of(kind), indent=1)
    if output is None:
        print(text)
        return
    with whole_file(output) as stream:
        stream.write(text.encode())
