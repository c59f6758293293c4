"""Types of values in PTX, by their names."""

from __future__ import annotations


def bytes_of(type_: str) -> int:
    """Bytes of a value of a type, such as ``"u32"``."""
    digits = type_.lstrip("bfsuet")
    return {"f16": 2, "bf16": 2, "f16x2": 4, "bf16x2": 4, "tf32": 4, "pred": 1}.get(type_) or (
        int(digits) // 8 if digits.isdigit() else 8
    )
