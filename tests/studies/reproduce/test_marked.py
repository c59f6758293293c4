"""Parts of pages that commands write."""

from pathlib import Path

import pytest

from experiments.marked import marked, write_marked
from gpusim.core.errors import UserError


def test_only_its_own_part_is_replaced(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "before\n<!-- a: begin -->\nold\n<!-- a: end -->\n<!-- b: begin -->\nb\n<!-- b: end -->\n"
    )
    write_marked(page, "a", "new\n")
    text = page.read_text()
    assert marked(text, "a") == "new"
    assert marked(text, "b") == "b"
    assert text.startswith("before\n")


def test_a_page_without_the_part_stays_as_it_is(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- a: begin -->\nnever closed\n")
    with pytest.raises(UserError, match="no part"):
        write_marked(page, "a", "new")
    assert page.read_text() == "<!-- a: begin -->\nnever closed\n"
