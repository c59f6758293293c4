"""How many examples hypothesis tries."""

from hypothesis import settings

QUICK, LONG = 10, 12
"""Where a test does not say, in the two profiles."""

_WHOLE = 50


def examples(whole: int) -> int:
    """So many of `whole` as the profile tries of 50 where a test does not say, but at least 5."""
    return max(min(whole, 5), whole * settings.default.max_examples // _WHOLE)
