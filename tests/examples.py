"""How many examples hypothesis tries."""

from hypothesis import settings

QUICK, LONG = 6, 12
"""Where a test does not say, in the two profiles."""

_WHOLE = 50


def examples(whole: int) -> int:
    """Examples of a test that has `whole` where tests that do not say have 50; at least 5."""
    return max(min(whole, 5), whole * settings.default.max_examples // _WHOLE)
