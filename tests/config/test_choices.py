"""Keys that have one of a few values: each refuses others, and tells which there are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, get_args, get_type_hints

import attrs
import pytest

import gpusim
from gpusim.config.choices import CHOICES, check_choices, choice_of
from gpusim.config.schema import GpuConfig, StageConfig
from gpusim.core.errors import UserError


def classes_of(kind: Any) -> Iterator[type]:
    """All classes of the schema below one."""
    if attrs.has(kind):
        yield kind
        for hint in get_type_hints(kind).values():
            yield from classes_of(hint)
    for inner in get_args(kind):
        yield from classes_of(inner)


TOLD = {
    (cls, one.name): one.metadata[CHOICES]
    for cls in classes_of(GpuConfig)
    for one in attrs.fields(cls)
    if isinstance(one.metadata.get(CHOICES, (0,))[0], str)  # numbers tell themselves
    and cls is not StageConfig  # its scope is that of a TLB level
}


@pytest.mark.parametrize(("cls", "name"), TOLD, ids=lambda one: getattr(one, "__name__", one))
def test_a_key_is_documented_with_its_words(cls: type, name: str) -> None:
    text = next(base.__doc__ or "" for base in cls.__mro__ if name in vars(base)["__annotations__"])
    words = TOLD[cls, name]
    assert not [word for word in words if f'"{word}"' not in text and f"``{word}``" not in text]


@attrs.frozen
class Part:
    number: int = choice_of(2, 4, default=4)
    word: str = choice_of("first", "second")
    maybe: str | None = choice_of("there", default=None)


@attrs.frozen
class Whole:
    part: Part = Part()
    parts: Mapping[str, Part] = attrs.Factory(dict)


def test_each_wrong_value_is_told_with_those_that_there_are() -> None:
    assert Part() == Part(4, "first", None)
    assert not list(check_choices(Whole(Part(2, "second", "there"), {"a": Part()})))
    wrong = Whole(Part(3, "secnod"), {"a": Part(maybe="their")})
    found = {".".join(one.key): one.message for one in check_choices(wrong)}
    assert found == {
        "part.number": "not allowed; allowed: 2, 4",
        "part.word": "not allowed; did you mean 'second'?; allowed: first, second",
        "parts.a.maybe": "not allowed; did you mean 'there'?; allowed: none, there",
    }


def test_all_are_told_at_once() -> None:
    wrong = {"sm.warp_size": 48, "tlb.L1.misses": "hit", "l2.page_table_reads": "frist"}
    with pytest.raises(UserError) as refused:
        gpusim.load_model("tiny", [], wrong)
    for key, value in wrong.items():
        assert f"{key} = {value!r}: not allowed" in str(refused.value)
