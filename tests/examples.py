"""How many examples hypothesis tries."""

from hypothesis import settings

QUICK, LONG = 10, 50
"""Where a test does not say, in the two profiles."""


def examples(long: int) -> int:
    """So many in the profile `long`, and a fifth of them, but at least 5, in `quick`."""
    return max(min(long, 5), long * settings.default.max_examples // LONG)
