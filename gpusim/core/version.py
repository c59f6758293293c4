"""The version of gpusim, and whether it is compiled."""

from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec

__version__ = "0.2.0"


def form() -> str:
    """``"compiled"`` or ``"pure Python"``: the same simulator, of which one is quicker."""
    hot = find_spec("gpusim.core.request")
    place = hot.origin if hot else None
    return "compiled" if (place or "").endswith(tuple(EXTENSION_SUFFIXES)) else "pure Python"
