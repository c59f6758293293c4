"""A table of what classes declare, made of their sources while they are compiled.

A compiled class does not hold the parameters of its methods, nor which of them are abstract.  The
build writes this table beside `gpusim.machine.declared`, which reads it.  Only the standard library
is imported here, as the build runs where gpusim is not installed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

ABSTRACT = "abstractmethod"

Declared = dict[str, str | bool]
"""Facts of a name in a class's body: ``abstract``, and for methods ``parameters``, as written."""

ClassTable = dict[str, dict[str, dict[str, Declared]]]
"""By module, class and name."""


def class_table(sources: Mapping[str, str]) -> ClassTable:
    """The table of modules.

    Args:
        sources: by names of modules, their text.
    """
    return {module: _classes(ast.parse(text)) for module, text in sources.items()}


def _classes(tree: ast.Module) -> dict[str, dict[str, Declared]]:
    return {
        node.name: {name: _declared(one) for one in node.body for name in _names(one)}
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    }


def _names(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.FunctionDef):
        yield statement.name
    elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        yield statement.target.id
    elif isinstance(statement, ast.Assign):
        yield from (one.id for one in statement.targets if isinstance(one, ast.Name))


def _declared(statement: ast.stmt) -> Declared:
    if not isinstance(statement, ast.FunctionDef):
        return {"abstract": False}
    decorators = (one for one in statement.decorator_list if isinstance(one, ast.Name))
    return {
        "abstract": any(one.id == ABSTRACT for one in decorators),
        "parameters": ast.unparse(statement.args),
    }
