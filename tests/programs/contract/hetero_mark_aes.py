"""Hetero-Mark's aes, beside a cipher that is written from FIPS 197 without tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.programs.contract.entries import (
    LANES,
    WAIT,
    Arrays,
    Operation,
    Run,
    Warp,
    compute,
    load,
    store,
)

IN_STEP: dict[str, dict[str, object]] = {"aes": {"length": 4096}}

VECTOR = bytes.fromhex("00112233445566778899aabbccddeeff")
ENCRYPTED = bytes.fromhex("8ea2b7ca516745bfeafc49904b496089")
"""FIPS 197, appendix C.3: with the key 00 01 .. 1f."""


def _times(one: int, other: int) -> int:
    product = 0
    while other:
        product ^= one if other & 1 else 0
        one = one << 1 ^ (0x11B if one & 0x80 else 0)
        other >>= 1
    return product


def _box(value: int) -> int:
    inverse = next((one for one in range(256) if _times(one, value) == 1), 0)
    bits = [
        (inverse >> i ^ inverse >> (i + 4) % 8 ^ inverse >> (i + 5) % 8)
        ^ (inverse >> (i + 6) % 8 ^ inverse >> (i + 7) % 8 ^ 0x63 >> i)
        for i in range(8)
    ]
    return sum((bit & 1) << i for i, bit in enumerate(bits))


BOX = [_box(value) for value in range(256)]


def _keys(key: bytes) -> list[bytes]:
    words = [key[i : i + 4] for i in range(0, 32, 4)]
    constant = 1
    for number in range(8, 60):
        word = words[-1]
        if number % 8 == 0:
            word = bytes(BOX[byte] for byte in word[1:] + word[:1])
            word = bytes([word[0] ^ constant, *word[1:]])
            constant = _times(constant, 2)
        elif number % 8 == 4:
            word = bytes(BOX[byte] for byte in word)
        words.append(bytes(a ^ b for a, b in zip(words[-8], word, strict=True)))
    return [b"".join(words[i : i + 4]) for i in range(0, 60, 4)]


KEYS = _keys(bytes(range(32)))


def cipher(block: bytes) -> bytes:
    state = [a ^ b for a, b in zip(block, KEYS[0], strict=True)]
    for number, key in enumerate(KEYS[1:], 1):
        state = [BOX[byte] for byte in state]
        state = [state[(4 * (c + r) + r) % 16] for c in range(4) for r in range(4)]
        if number < 14:
            state = [
                _times(state[4 * c + r], 2)
                ^ _times(state[4 * c + (r + 1) % 4], 3)
                ^ state[4 * c + (r + 2) % 4]
                ^ state[4 * c + (r + 3) % 4]
                for c in range(4)
                for r in range(4)
            ]
        state = [a ^ b for a, b in zip(state, key, strict=True)]
    return bytes(state)


def the_oracle_is_aes() -> None:
    assert cipher(VECTOR) == ENCRYPTED


def encrypted(length: int) -> Run:
    def results(before: Arrays) -> dict[str, Any]:
        plain = before["input"].tobytes()
        whole = b"".join(cipher(plain[i : i + 16]) for i in range(0, length, 16))

        def check(found: Any) -> None:
            assert found.tobytes() == whole

        return {"input": check}

    return Run(
        "aes",
        {"length": length},
        launches=["Encrypt"],
        arrays={"input": length, "expanded_key": 240, "s": 256},
        results=results,
    )


def the_published_vector(arrays: Arrays) -> None:
    arrays["input"][:1] = np.frombuffer(VECTOR, dtype=arrays["input"].dtype)


def published() -> Run:
    def check(found: Any) -> None:
        assert found.tobytes() == ENCRYPTED

    return Run(
        "aes",
        {"length": 16},
        edit=the_published_vector,
        launches=["Encrypt"],
        results=lambda _: {"input": check},
    )


def sixteen_lookups_a_round(operations: list[Operation]) -> None:
    """Warp 1 of block 2: its bytes, 14 rounds, its bytes."""
    own = [2 * 64 + 32 + lane for lane in LANES]
    assert operations[:4] == [compute(16), load("input", own), WAIT, compute(52)]
    assert operations[-2:] == [store("input", own), compute(1)]
    rounds = operations[4:-2]
    each = len(rounds) // 14
    assert len(rounds) == 14 * each
    for number in range(14):
        one = rounds[each * number : each * (number + 1)]
        assert [op[1] for op in one if op[0] == "LOAD"] == ["s"] * 16 + ["expanded_key"]
        assert load("expanded_key", [number + 1] * 32) in one


RUNS = [encrypted(1024), encrypted(48), published()]
WARPS = [
    Warp(
        "aes",
        {"length": 4096},
        block=2,
        warp=1,
        geometry=("Encrypt", 4, 64, 36, 0),
        operations=sixteen_lookups_a_round,
    )
]
CHECKS = [the_oracle_is_aes]
