"""Whatever happens to pages, no access reads what is stale, and nothing stands still."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpusim.config.schema import GpuConfig
from gpusim.files.units import Bytes
from tests.examples import examples
from tests.hardware.fbt.virtual_machines import Event, events, followed, machines, synonym_storms
from tests.hardware.sm.test_random import Program
from tests.hardware.sm.tiny_machines import programs
from tests.machine.bench import change

thorough = settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@thorough
@given(machines(), programs, events)
def test_no_read_is_stale(config: GpuConfig, app: Program, script: list[Event]) -> None:
    followed(config, [app], script)


@thorough
@given(machines().filter(lambda config: config.sm.count > 1), st.tuples(programs, programs), events)
def test_nor_with_homonyms(
    config: GpuConfig, apps: tuple[Program, Program], script: list[Event]
) -> None:
    followed(config, apps, script)


@thorough
@given(machines().filter(lambda config: config.fbt and config.fbt.remapping), synonym_storms())
def test_nor_in_storms_of_remapped_synonyms(
    config: GpuConfig, storm: tuple[Program, list[Event]]
) -> None:
    program, script = storm
    two_lines = change(config, l1={"size": Bytes(256), "ways": 1})  # so that L2 caches hit, too
    followed(two_lines, [program], script)
