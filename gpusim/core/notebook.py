"""What a notebook shows of an object: a title, and facts in two columns."""

from __future__ import annotations

from collections.abc import Mapping

_CELL = "padding: .1rem .8rem .1rem 0; text-align: left"


def html_facts(title: str, facts: Mapping[str, str]) -> str:
    """HTML of a title, if there is one, and of facts by their names, all of which is text."""
    from html import escape

    rows = "".join(
        f'<tr><td style="{_CELL}">{escape(name)}</td><td style="{_CELL}">{escape(text)}</td></tr>'
        for name, text in facts.items()
    )
    heading = f"<b>{escape(title)}</b>" if title else ""
    return f"<div>{heading}<table>{rows}</table></div>"
