"""docs/reference/policies.md and docs/mechanisms: made from the classes, and true of the files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from experiments.marked import marked
from experiments.policy_reference import PART, options_of, shipped_policies, slot_keys, tables
from gpusim.core.registry import Slot, find_policy
from gpusim.core.version import form

pytestmark = pytest.mark.skipif(
    form() != "pure Python", reason="compiled classes keep no docstrings; a checkout makes the page"
)

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "policies.md"
POLICIES = [(slot, name) for slot in Slot for name in shipped_policies(slot)]


def test_the_page_is_that_of_the_classes() -> None:
    again = "gpusim study policy-reference --doc docs/reference/policies.md"
    assert marked(PAGE.read_text(encoding="utf-8"), PART) == tables().strip(), f"run: {again}"


@pytest.mark.parametrize(("slot", "name"), POLICIES)
def test_every_option_says_what_it_means(slot: Slot, name: str) -> None:
    for option in options_of(find_policy(slot, name)):
        assert len(option.meaning.split()) >= 3, option


def test_every_slot_has_a_key() -> None:
    assert all(slot_keys()[slot] for slot in Slot)


def test_files_that_pages_on_mechanisms_name_are_there() -> None:
    text = "".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "mechanisms").glob("*.md")
    )
    named = set(re.findall(r"`(gpusim/\S+?\.py)`", text))
    assert len(named) > 20
    import gpusim

    folder = Path(gpusim.__path__[0]).parent
    assert sorted(file for file in named if not (folder / file).is_file()) == []
