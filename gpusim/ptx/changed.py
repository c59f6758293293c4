"""Other people's modules and classes, changed for a while."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any


@contextmanager
def changed(owner: Any, attributes: Mapping[str, Any]) -> Iterator[None]:
    """Inside, a module, class or object has other attributes, as far as it has these names.

    Args:
        owner: of the attributes.
        attributes: by name.
    """
    before = {name: getattr(owner, name) for name in attributes if hasattr(owner, name)}
    try:
        for name in before:
            setattr(owner, name, attributes[name])
        yield
    finally:
        for name, attribute in before.items():
            setattr(owner, name, attribute)
