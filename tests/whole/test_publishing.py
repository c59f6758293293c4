"""What package indexes, citation tools and the site read: it holds together."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from typing import Any

import jinja2
import pytest
import yaml

import gpusim
from tests import ROOT

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SITE: dict[str, Any] = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
CITATION: dict[str, Any] = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
README = (ROOT / "README.md").read_text(encoding="utf-8")
PLACEHOLDER = b"gpusim.example"
NOT_REQUIRED = {"gpusim", "experiments", "_typeshed", "numba", "torch"}
"""Its own, what only types need, and what comes with a user's kernel or model."""
CONDA_NAMES = {"matplotlib": "matplotlib-base", "mypy-extensions": "mypy_extensions"}
CONDA: dict[str, Any] = yaml.safe_load(
    jinja2.Template((ROOT / "packaging/conda/meta.yaml").read_text(encoding="utf-8")).render(
        compiler=lambda language: f"{language}-compiler", PYTHON="python"
    )
)
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
    addresses.append(CONDA["about"]["home"])
    assert len(addresses) == 12
    assert all(f"{address}/".startswith(f"{HOME}/") for address in addresses), addresses


def test_the_placeholder_of_the_home_is_nowhere_else() -> None:
    texts = (".cff", ".md", ".py", ".pyi", ".toml", ".yaml", ".yml", "", ".ipynb", ".html")
    there = set()
    for folder in (
        "",
        "docs",
        "gpusim",
        "experiments",
        "models",
        "workloads",
        "packaging",
        ".github",
    ):
        places = (ROOT / folder).rglob("*") if folder else ROOT.iterdir()
        files = (path for path in places if path.is_file() and path.suffix in texts)
        there |= {path.name for path in files if PLACEHOLDER in path.read_bytes()}
    expected = {"CITATION.cff", "CONTRIBUTING.md", "meta.yaml", "mkdocs.yml", "pyproject.toml"}
    assert there in (set(), expected)


def test_the_recipe_of_conda_is_of_this_version_and_has_all_that_is_needed() -> None:
    project, build = PROJECT["project"], PROJECT["build-system"]["requires"]
    assert CONDA["package"] == {"name": project["name"], "version": gpusim.__version__}
    assert CONDA["about"]["summary"] == project["description"]
    (script,) = CONDA["build"]["entry_points"]
    assert script == f"gpusim = {project['scripts']['gpusim']}"
    plain = [one for one in project["dependencies"] if ";" not in one]
    needs = {of_conda(one) for one in [*plain, *of_the_build("RUNTIME")]}
    python = f"python {project['requires-python']}"
    assert set(CONDA["requirements"]["run"]) == {python, *needs}
    host = {of_conda(one) for one in [*build, *of_the_build("NEEDS"), *of_the_build("RUNTIME")]}
    assert set(CONDA["requirements"]["host"]) == {python, "pip", *host}


def test_what_is_imported_is_required() -> None:
    """Not by luck: a package that another one brings may be gone in its next version."""
    project = PROJECT["project"]
    lists = [project["dependencies"], of_the_build("RUNTIME")]
    lists += project["optional-dependencies"].values()
    required = {distribution(one) for needed in lists for one in needed}
    installed = packages_distributions()
    for name in sorted(imported() - set(sys.stdlib_module_names) - NOT_REQUIRED):
        providers = {distribution(one) for one in installed.get(name, [name])}
        assert providers & required, f"{name} is imported, and {providers} is not required"


def distribution(requirement: str) -> str:
    """Its name, in one spelling."""
    return re.split(r"[^\w.-]", requirement)[0].lower().replace("_", "-")


IMPORT = re.compile(r"^\s*(?:import|from)\s+(\w+)", re.MULTILINE)


def imported() -> set[str]:
    """Packages that modules of gpusim name in an import."""
    found = {"gpusim"}
    for path in (ROOT / "gpusim").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if set(IMPORT.findall(text)) <= found | set(sys.stdlib_module_names):
            continue  # to parse all modules takes seconds
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                found |= {one.name.partition(".")[0] for one in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.add(node.module.partition(".")[0])
    return found


def of_the_build(name: str) -> list[str]:
    """A list of `hatch_build.py`, which imports what a build alone has."""
    tree = ast.parse((ROOT / "hatch_build.py").read_text(encoding="utf-8"))
    (value,) = (
        one.value for one in tree.body if isinstance(one, ast.Assign) and one.targets[0].id == name
    )
    return ast.literal_eval(value)


def of_conda(needed: str) -> str:
    """A requirement of pip as conda has it, where some packages have other names."""
    name, bounds = re.fullmatch(r"([\w-]+)(?:\[\w+\])?(.*)", needed).groups()
    return f"{CONDA_NAMES.get(name, name)} {bounds}"


def test_an_image_has_what_the_second_stage_takes_from_the_first() -> None:
    lines = (ROOT / "Containerfile").read_text(encoding="utf-8").splitlines()
    stages = [line.split() for line in lines if line.startswith("FROM")]
    assert [len(one) for one in stages] == [4, 2], "one is built, the other one is kept"
    assert len({one[1] for one in stages}) == 1, (
        "extensions need the Python that they are built for"
    )
    assert PROJECT["project"]["requires-python"] == ">=3.11"
    (version,) = re.findall(r"python:3\.(\d+)", stages[0][1])
    assert f"cp3{version}-*" in PROJECT["tool"]["cibuildwheel"]["build"]
    text = "\n".join(lines)
    assert "--wheel-dir /wheels" in text
    assert "COPY --from=build /wheels /wheels" in text
    assert 'ENTRYPOINT ["gpusim"]' in text


def test_the_site_has_search_and_a_selector_of_versions() -> None:
    assert "search" in SITE["plugins"]
    assert SITE["extra"]["version"]["provider"] == "mike"
    assert any(
        one.startswith("mike") for one in PROJECT["project"]["optional-dependencies"]["docs"]
    )


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


MADE = ("reproduction/", "api/", "index.md", "changelog.md", "contributing.md")
"""Pages that are tables or references by a name, and those that are not of `docs/`."""


@pytest.mark.parametrize(
    "page", sorted(page for page in pages(SITE["nav"]) if not page.startswith(MADE))
)
def test_a_page_begins_with_its_question(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    title, first, *_ = re.split(r"\n\s*\n", text, maxsplit=2)
    assert title.startswith("# ")
    assert "?" in title + first, first


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
