"""The page of one run, or of two side by side."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import field, frozen

from gpusim.core.version import __version__
from gpusim.files.whole_files import whole_file
from gpusim.results.blame import answers
from gpusim.views.explore.pack import pack

if TYPE_CHECKING:
    from gpusim.results.result import Result

_TEMPLATES = Path(__file__).parent / "templates"
_FRAME_HEIGHT = 900
"""Pixels in a notebook."""


@frozen
class Exploration:
    """A page, which notebooks show as it is.

    Attributes:
        page: HTML that needs nothing else.
    """

    page: str = field(repr=False)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Keep it as a file, whole or not at all.

        Raises:
            UserError: it cannot be written.
        """
        with whole_file(Path(path)) as stream:
            stream.write(self.page.encode())

    def _repr_html_(self) -> str:
        source = html.escape(self.page, quote=True)
        style = f"width: 100%; height: {_FRAME_HEIGHT}px; border: 0"
        return f'<iframe srcdoc="{source}" style="{style}" sandbox="allow-scripts"></iframe>'


def explore(*results: Result, begin: int = 0, end: int | None = None) -> Exploration:
    """A page on which runs can be looked into, cycle by cycle; two share their axis of time.

    Args:
        results: one or two, with recorded intervals, and best also requests, walks, dram and tlb.
        begin: only what reaches into the cycles from here,
        end: to here; default: all.

    Raises:
        UserError: intervals were not recorded, or there is too much to hold.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    packed = [pack(result, begin, end) for result in results]
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    script = (_TEMPLATES / "explore.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    data = json.dumps([one.to_json() for one in packed], separators=(",", ":"))
    titles = [one.facts["title"] for one in packed]
    families = [state["family"] for one in packed for state in one.facts["states"]]
    return Exploration(
        environment.get_template("explore.html.j2").render(
            version=__version__,
            title=" | ".join(titles),
            heading="gpusim explore",
            families=sorted(set(families)),
            sentences=[sentence for result in results for sentence in answers(result)],
            style=(_TEMPLATES / "explore.css").read_text(encoding="utf-8"),
            script=script,
            script_hash=f"sha256-{digest}",
            data=data.replace("<", "\\u003c"),
        )
    )
