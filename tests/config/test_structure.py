"""What becomes of tables does not depend on what the process has done before."""

from __future__ import annotations

from attrs import field, frozen

from gpusim.config.sm import SmConfig
from gpusim.files.structure import attributes_of, default_of, structure, unstructure
from gpusim.files.units import Bytes, Hertz
from gpusim.studies.sweep.user_sources import attributes_text


def fresh() -> type:
    """A class whose annotations are texts, which no process has looked at yet."""

    @frozen
    class Table:
        size: Bytes = field(default=4096)
        clock: Hertz | None = 10**9

    return Table


def test_a_class_that_was_never_structured_is_written_with_its_units():
    assert unstructure(fresh()()) == {"size": "4KiB", "clock": "1000MHz"}
    assert default_of(fresh(), ("size",)) == "4KiB"


def test_types_are_types_whoever_asks_first():
    first, second = fresh(), fresh()
    structure({}, second)
    types = [[one.type for _, one, _ in attributes_of(cls())] for cls in (first, second)]
    assert types[0] == types[1] == [Bytes, Hertz | None]
    assert attributes_text(first) == attributes_text(second)


def test_keys_with_units_of_a_machine_that_no_file_told():
    assert unstructure(SmConfig(1))["block_start"] == str(SmConfig(1).block_start)


@frozen
class Lists:
    some: list[int] = field(factory=list)
    other: dict[str, int] = field(factory=lambda: {"one": 1})


def test_the_text_of_a_class_tells_what_its_defaults_make():
    assert "at 0x" not in attributes_text(Lists)
    assert "{'one': 1}" in attributes_text(Lists)
