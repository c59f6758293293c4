"""Values that nobody means: what a mutation puts where a number, a word or a line was."""

from __future__ import annotations

NUMBERS = (
    "0", "-1", "1", "2", "255", "65536", "2147483647", "2147483648", "4294967296", "99999999999",
    "9223372036854775807", "9223372036854775808", "18446744073709551616", "1e309", "1.5", "nan",
    "-0", "0x7fffffffffffffff", "0xffffffffffffffffffff", "9" * 30, "9" * 5000, "1_0", "٣",
)  # fmt: skip

WORDS = (
    "", " ", "[/b]", "[bold red]x", "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\u202eabc",
    ":smile:", "x" * 300, "x" * 5000, "../../../etc/passwd", "/dev/zero", "/dev/null", "os:system",
    "missing_module:Class", "\x00", "none", "true", "é" * 40, "'", '"', "\\", "{", "[", "#", "=",
    "a.b.c", "0B", "1KiB", "999999999999GiB", "12ns", "-5 cycles", "%s%n", "\ud7ff", "\r",
    "LDG.E.99999",
)  # fmt: skip

LINES = (
    "", "[" * 50_000, "a = " + "[" * 50_000, "{" * 2_000, "a." * 3_000 + "a = 1", "x" * 100_000,
    "#" * 10_000, "a = 1979-05-27T07:32:00Z", '"" = 1', "[[applications]]", "applications = 1.5",
    "[variants.x]\nbased_on = 'x'", "{}", "null", "[]", '{"at": NaN}', "\t", "\x00" * 100,
)  # fmt: skip
