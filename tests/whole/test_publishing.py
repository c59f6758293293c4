"""What package indexes, citation tools and the site are told: it holds together."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

import gpusim
from tests import ROOT

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SITE: dict[str, Any] = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
CITATION: dict[str, Any] = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
README = (ROOT / "README.md").read_text(encoding="utf-8")
HOME = PROJECT["project"]["urls"]["Homepage"]
SUBSTITUTIONS = PROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]

BESIDE = {"index.md": "README.md", "contributing.md": "CONTRIBUTING.md"}
BESIDE["changelog.md"] = "CHANGELOG.md"
"""Pages of the site that are files beside `docs/` (docs/make_site.py)."""


def test_a_citation_is_complete_and_of_this_version() -> None:
    assert {"cff-version", "message", "title", "authors", "license"} <= set(CITATION)
    assert CITATION["version"] == gpusim.__version__
    assert CITATION["license"] == PROJECT["project"]["license"]


def test_the_project_has_one_home() -> None:
    addresses = [*PROJECT["project"]["urls"].values(), CITATION["url"], SITE["site_url"]]
    addresses += [CITATION["repository-code"], SITE["repo_url"]]
    addresses += re.findall(r"https:[^)]+", " ".join(one["replacement"] for one in SUBSTITUTIONS))
    assert len(addresses) == 11
    assert all(f"{address}/".startswith(f"{HOME}/") for address in addresses), addresses


def test_the_readme_shows_its_pictures_and_links_anywhere() -> None:
    shown = README
    for one in SUBSTITUTIONS:
        shown = re.sub(one["pattern"], one["replacement"], shown)
    before = re.findall(r"(!?)\[[^\]]*\]\((?!https?:|#)([^)]+)\)", README)
    assert any(picture for picture, _ in before)
    assert not re.findall(r"\]\((?!https?:|#)[^)]+\)", shown)
    for picture, place in before:
        assert (ROOT / place).exists(), place
        kind = "raw" if picture else "blob"
        assert f"]({HOME}/{kind}/v$HFPR_VERSION/{place})" in shown


def test_each_python_that_has_wheels_is_named() -> None:
    named = {one.rpartition(" ")[2] for one in PROJECT["project"]["classifiers"]}
    assert {"3.11", "3.12", "3.13"} <= named
    built = [one[2:-2] for one in PROJECT["tool"]["cibuildwheel"]["build"]]
    assert {one.replace(".", "") for one in named if one.startswith("3.")} <= set(built)


def pages(place: object) -> Iterator[str]:
    """All pages in a part of the site's navigation."""
    if isinstance(place, str):
        yield place
    elif isinstance(place, dict | list):
        for inside in place.values() if isinstance(place, dict) else place:
            yield from pages(inside)


def test_every_page_has_a_place_in_the_site() -> None:
    there = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert sorted(pages(SITE["nav"])) == sorted(there | set(BESIDE))


@pytest.mark.parametrize("page", sorted(pages(SITE["nav"])))
def test_links_of_a_page_lead_to_files(page: str) -> None:
    """Pictures, which come later than a page, and anchors are for `mkdocs build --strict`."""
    path = ROOT / BESIDE.get(page, f"docs/{page}")
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link in re.findall(r"(?<!!)\[[^\]]*\]\((?!https?:)([^)#\s]+)", text):
        assert (path.parent / link).exists(), link


def test_the_reference_has_all_that_is_public() -> None:
    text = (ROOT / "docs" / "api" / "index.md").read_text(encoding="utf-8")
    (members,) = re.findall(r"members: \[([^\]]*)\]", text)
    assert set(members.split(", ")) == set(gpusim.__all__) - {"__version__"}
