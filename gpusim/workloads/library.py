"""Workloads by name: one file each, and the collections of the papers.

A name is that of a shipped workload (``bfs``), of a paper's (``mask/BFS2``, or ``BFS2`` alone where
only one paper has it), the path of a file (``./mine.toml``), or a program of the user's own that is
registered (``axpy``) or can be imported (``axpy:axpy``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from attrs import field, frozen

from gpusim.core.errors import UserError, few, nearest
from gpusim.core.untrusted import is_file
from gpusim.core.user_code import refusal
from gpusim.files.contents import while_unchanged
from gpusim.files.shipped import data_folder, data_names
from gpusim.files.structure import StructureError, structure
from gpusim.files.toml_document import Document, Key, read_document
from gpusim.programs.catalog import ProgramKind, find_program, own_program_names, program_names
from gpusim.workloads.tables import SCALES, ApplicationTable, CollectionTable, WorkloadTable

T = TypeVar("T")


@frozen(eq=False)
class Entry:
    """A workload's table, and where it stands.

    Attributes:
        name: as results call it.
        table: what it says.
    """

    name: str
    table: WorkloadTable
    _document: Document = field(alias="document", repr=False)
    _prefix: Key = field(default=(), alias="prefix")

    @property
    def path(self) -> Path:
        """The file."""
        return self._document.path

    def place(self, key: Key) -> str:
        """File, line and key; no line where several applications leave it open."""
        return _place(self._document, self._prefix, key, len(self.table.applications) > 1)


def _place(document: Document, prefix: Key, key: Key, several: bool = False) -> str:
    named = prefix if several else (*prefix, *(name for name in key if not name.isdigit()))
    note = document.note(named)
    return f"{document.path}{f':{note.line}' if note else ''}: {'.'.join((*prefix, *key))}"


def workload_names() -> tuple[str, ...]:
    """Names of the shipped workloads, one a file, sorted."""
    return data_names("workloads")


def paper_names() -> tuple[str, ...]:
    """Names of the papers whose workloads are collected."""
    return tuple(sorted(path.stem for path in _papers().glob("*.toml")))


def read_paper(paper: str) -> CollectionTable:
    """The collection of a paper.

    Raises:
        UserError: there is no such paper.
    """
    if paper not in paper_names():
        raise UserError(
            f"there is no paper {paper!r}{nearest(paper, paper_names())}; "
            f"allowed: {', '.join(paper_names())}"
        )
    return _collection(_papers() / f"{paper}.toml")[1]


def paper_workloads(paper: str) -> Iterator[Entry]:
    """The workloads of a paper, in its order."""
    for name in read_paper(paper).workloads:
        yield find_workload(f"{paper}/{name}")


def referenced_names(collection: CollectionTable) -> frozenset[str]:
    """What the workloads of a paper refer to."""
    return frozenset(
        str(application.get("workload"))
        for table in collection.workloads.values()
        for application in table["applications"]
    )


def find_workload(name_or_path: str, folder: Path | None = None) -> Entry:
    """The workload that a user means (see the top of this file).

    Args:
        name_or_path: what was written.
        folder: what relative paths start from; None: the current folder.

    Raises:
        UserError: there is none, several have that name, or its table is wrong.
    """
    path = Path(name_or_path)
    if path.suffix == ".toml":
        return _file((folder or Path()) / path)
    if name_or_path in workload_names():
        return _file(data_folder("workloads") / f"{name_or_path}.toml")
    own = own_program_names()
    if name_or_path in own or ":" in name_or_path:
        return _of_program(find_program(name_or_path), name_or_path)
    known = _paper_workload_names()
    found = [name for name in known if name_or_path in (name, name.partition("/")[2])]
    if len(found) == 1:
        return _collected(found[0])
    if found:
        raise UserError(
            f"several papers have a workload {name_or_path!r}: write {' or '.join(found)}"
        )
    if name_or_path in program_names():  # gpusim's own, which no workload file gives sizes
        return _of_program(find_program(name_or_path), name_or_path)
    names = (*own, *workload_names(), *known, *(name.partition("/")[2] for name in known))
    raise UserError(
        f"there is no workload named {name_or_path!r}{nearest(name_or_path, names)}; "
        f"allowed: {few((*own, *workload_names()), name_or_path)} (gpusim list workloads), those "
        f"of a paper (gpusim list workloads --paper {'|'.join(paper_names())}), the path of a "
        ".toml or trace file, or a program as 'package.module:program'"
    )


def _of_program(kind: ProgramKind, name: str) -> Entry:
    """A workload of one program, with its defaults at every scale."""
    application = {"program": name, "name": kind.name, **{scale: {} for scale in SCALES}}
    data = {"applications": [application]}
    return _entry(Document(Path(f"program {kind.name}"), data, {}), data, kind.name, ())


def referenced(entry: Entry, index: int) -> Entry:
    """The workload that an application of `entry` refers to.

    Raises:
        UserError: there is none, or it has not exactly one application.
    """
    name = entry.table.applications[index].workload
    assert name is not None
    where = entry.place(("applications", str(index), "workload"))
    if why := refusal(name, entry.path):
        raise UserError(f"{where} = {name!r}: {why}")
    try:
        found = find_workload(name, entry.path.parent)
    except UserError as error:
        raise UserError(f"{where}: {error}") from error
    if (found.path, found.name) == (entry.path, entry.name):
        raise UserError(f"{where} = {name!r}: refers to itself")
    if len(found.table.applications) != 1:
        raise UserError(
            f"{where} = {name!r}: has {len(found.table.applications)} applications; "
            "only a workload with one can be referred to"
        )
    return found


def default_name(table: ApplicationTable) -> str:
    """What results call an application that has no name of its own."""
    if table.name is not None:
        return table.name
    if table.trace is not None:
        return Path(table.trace).name.partition(".")[0]
    if table.workload is not None:
        return Path(table.workload).name.removesuffix(".toml")
    assert table.program is not None
    return table.program


def _papers() -> Path:
    return data_folder("workloads") / "papers"


@while_unchanged(32)
def _collection(path: Path) -> tuple[Document, CollectionTable]:
    document = read_document(path)
    return document, _structure(document, document.data, CollectionTable, ())


def _paper_workload_names() -> tuple[str, ...]:
    return tuple(
        f"{paper}/{name}" for paper in paper_names() for name in read_paper(paper).workloads
    )


def _file(path: Path) -> Entry:
    if not is_file(path):
        raise UserError(f"there is no workload file {str(path)!r}")
    document = read_document(path)
    return _entry(document, document.data, path.stem, ())


def _collected(full_name: str) -> Entry:
    paper, _, name = full_name.partition("/")
    document, table = _collection(_papers() / f"{paper}.toml")
    return _entry(document, table.workloads[name], full_name, ("workloads", name))


def _entry(document: Document, data: Mapping[str, Any], name: str, prefix: Key) -> Entry:
    table = _structure(document, data, WorkloadTable, prefix)
    entry = Entry(name, table, document, prefix)
    if not table.applications:
        raise UserError(f"{entry.place(('applications',))}: is empty; at least one is needed")
    gpus = [application.gpu for application in table.applications]
    if None in gpus and any(gpu is not None for gpu in gpus):
        raise UserError(f"{entry.place(('applications',))}: some name a gpu and some do not")
    for gpu in dict.fromkeys(gpus):
        shares = sum(one.share or 0 for one in table.applications if one.gpu == gpu)
        if shares > 1:
            where = "" if gpu is None else f" on GPU {gpu}"
            raise UserError(
                f"{entry.place(('applications',))}: the shares{where} add up to {shares}; at most "
                "1 is allowed"
            )
    instances = [application.instance for application in table.applications]
    if any(instances) and not all(instances):
        raise UserError(
            f"{entry.place(('applications',))}: some have an instance and some have none"
        )
    return entry


def _structure(document: Document, data: Mapping[str, Any], cls: type[T], prefix: Key) -> T:
    try:
        return structure(data, cls)
    except StructureError as error:
        several = len(data.get("applications", ())) > 1
        messages = [
            f"{_place(document, prefix, p.key, several)}: {p.message}" for p in error.problems
        ]
        raise UserError("\n".join(messages)) from error
