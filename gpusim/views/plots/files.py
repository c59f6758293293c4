"""Pictures as files: whole or absent."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backend_bases import FigureCanvasBase
from matplotlib.figure import Figure, SubFigure

from gpusim.core.errors import UserError, nearest
from gpusim.files.whole_files import whole_file
from gpusim.views.plots.style import style

_NO_DATE: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
"""Equal pictures are equal files."""


def check_picture(path: str | os.PathLike[str]) -> None:
    """Find out before long work whether a picture can be written.

    Raises:
        UserError: there is no such format, or no such folder.
    """
    path = Path(path)
    formats = FigureCanvasBase.get_supported_filetypes()
    suffix = path.suffix[1:].lower()
    if suffix not in formats:
        raise UserError(
            f"cannot draw {path}: its name tells the format{nearest(suffix, formats)}; "
            f"allowed: .{', .'.join(formats)}"
        )
    if not path.parent.is_dir():
        raise UserError(f"cannot write {path}: there is no folder {path.parent}")


def save(picture: Axes | Figure | SubFigure, path: str | os.PathLike[str]) -> None:
    """Write a figure, or that of some axes; a failure leaves nothing behind.

    Args:
        picture: what to write, always as a whole figure.
        path: its ending tells the format.

    Raises:
        UserError: it cannot be written, or not in this format.
    """
    path = Path(path)
    check_picture(path)
    kind = path.suffix[1:].lower()
    figure = picture.figure.figure  # of axes: perhaps a part of a figure, and then the whole
    stream = io.BytesIO()
    with style():
        figure.savefig(stream, format=kind, metadata=_NO_DATE.get(kind))
    with whole_file(path) as file:
        file.write(stream.getbuffer())
