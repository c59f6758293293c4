"""Models that are based on another one: what they state lies over all that the other one states."""

from __future__ import annotations

from pathlib import Path

from gpusim.config.layers import Tree, base_layer, merge
from gpusim.core.errors import UserError
from gpusim.files.shipped import find_data
from gpusim.files.toml_document import Document, read_document

BASED_ON = "based_on"
"""The key of a model file that names the model below it: a shipped one, or a path beside it."""


def with_bases(document: Document, chain: tuple[Path, ...] = ()) -> Tree:
    """The machine of a model file without any variant, over those that it is based on.

    A model does not have the variants of its base.

    Raises:
        UserError: there is no such model, or it is based on itself.
    """
    name, chain = document.data.get(BASED_ON), (*chain, document.path.resolve())
    own = base_layer(document)
    own.pop(BASED_ON, None)
    if name is None:
        return own
    if not isinstance(name, str):
        raise UserError(f"{document.path}: {BASED_ON} = {name!r}: must be the name of a model")
    is_path = name.endswith(".toml") or len(Path(name).parts) > 1
    try:
        path = find_data("models", str(document.path.parent / name) if is_path else name)
    except UserError as error:
        raise UserError(f"{document.path}: {BASED_ON} = {name!r}: {error}") from error
    if path.resolve() in chain:
        raise UserError(f"{document.path}: {BASED_ON} = {name!r}: a model is based on itself")
    tree = with_bases(read_document(path), chain)
    merge(tree, own)
    return tree
