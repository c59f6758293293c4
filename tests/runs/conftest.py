"""The small hand-made run of the tests of results."""

from tests.results.conftest import make, run

__all__ = ["make", "run"]
