"""Figures of papers that are run as modules themselves."""

from __future__ import annotations

import sys

from gpusim.cli.main import main
from gpusim.studies.reproduce.figure import Figure


def script(figure: Figure) -> None:
    """The command for one figure, for modules of figures that are run themselves."""
    sys.argv[1:1] = ["reproduce", figure.id]
    main()
