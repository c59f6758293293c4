"""Replacement policies in TLB arrays: one set against naive policies; what holds for all."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpusim
from gpusim.config.translation import TlbConfig
from gpusim.core.errors import UserError
from gpusim.core.mapping import ASID_SHIFT, Mapping
from gpusim.core.policy import PolicyConfig
from gpusim.core.registry import Slot, make_policy, policy_names
from gpusim.hardware.tlb import TlbArray
from tests.core.replacement.naive_replacement import NAIVE
from tests.examples import examples
from tests.quick import quick

WAYS = 4
ONE_SET: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "set-associative": ({}, {}),
    "sub-entry": ({}, {}),
    "sub-entry-groups": ({}, {"groups": 2}),
    "star": ({}, {"bases": 1}),
    "cluster": ({}, {}),
    "tb-partitioned": ({}, {}),
    "static-ways": ({"ways": 8, "entries": 8}, {"ways_of": "4/4"}),
}
"""Arrays of one set of four ways, of one page each: changes of the table, options of the array."""
DENSE: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "sub-entry": ({"sub_entries": 4}, {}),
    "sub-entry-groups": ({"sub_entries": 4}, {"groups": 2}),
    "star": ({"sub_entries": 4}, {}),
    "star of four": ({"sub_entries": 4}, {"bases": 4}),
    "lazy star": ({"sub_entries": 4}, {"relocate": "lazy"}),
    "cluster": ({"sub_entries": 4}, {}),
    "set-associative": ({}, {}),
    "base-delta": ({"sets": PolicyConfig("base-delta", {"rebase": 3, "delta_vpn_bits": 3})}, {}),
    "tb-partitioned": ({}, {}),
    "tb-partitioned-shared": ({}, {}),
    "static-ways": ({"sub_entries": 4}, {"ways_of": "2/2"}),
}
"""Arrays of several sets, and of more pages."""
CLASSES = {
    "star of four": "star",
    "lazy star": "star",
    "base-delta": "set-associative",
}


def made(
    which: dict[str, tuple[dict[str, Any], dict[str, Any]]],
    name: str,
    entries: int,
    replacement: PolicyConfig,
) -> tuple[TlbArray, TlbConfig]:
    changes, options = which[name]
    keys: dict[str, Any] = {"entries": entries, "ways": WAYS, "replacement": replacement} | changes
    config = TlbConfig("sm", **keys)
    array: TlbArray = make_policy(
        Slot.TLB_ARRAY, PolicyConfig(CLASSES.get(name, name), options), config
    )
    return array, config


def crossed(arrays: Iterable[str], policies: Iterable[str]) -> list[Any]:
    """All pairs: each policy in the plain array and each array with LRU are quick, others long."""
    pairs = list(product(arrays, policies))
    plain = [pair for pair in pairs if pair[0] == "set-associative" or pair[1] == "lru"]
    return quick(pairs, *plain)


@pytest.mark.parametrize(("name", "policy"), crossed(ONE_SET, NAIVE))
@given(
    st.lists(st.tuples(st.sampled_from(["use"] * 5 + ["remove"]), st.integers(0, 9)), max_size=80)
)
def test_one_set_replaces_as_the_policy_says(name: str, policy: str, ops: Any) -> None:
    naive, options = NAIVE[policy]
    slow = naive(WAYS)
    array, _ = made(ONE_SET, name, WAYS, PolicyConfig(policy, options))
    for what, tag in ops:
        if what == "remove":
            assert array.invalidate(tag) == slow.remove(tag)
            continue
        hit = array.lookup(tag, 0) is not None
        assert hit == (tag in slow.ways)
        gone = slow.use(tag)
        if not hit:
            assert array.insert(tag, Mapping(tag, tag), 0) == (gone is not None)


tags = st.builds(lambda asid, vpn: asid << ASID_SHIFT | vpn, st.integers(0, 1), st.integers(0, 60))
ops = st.lists(
    st.tuples(
        st.sampled_from(["lookup"] * 4 + ["insert"] * 7 + ["invalidate", "flush"]),
        tags,
        st.integers(0, 400),
    ),
    min_size=40,
    max_size=120,
)


@pytest.mark.parametrize(("name", "policy"), crossed(DENSE, policy_names(Slot.REPLACEMENT)))
@settings(max_examples=examples(20))  # each is a hundred operations, and there are 66 of these
@given(ops)
def test_every_array_with_every_policy(name: str, policy: str, ops: Any) -> None:
    """A hit is what was put in last for that very page; no more is there than there is room."""
    array, config = made(DENSE, name, 2 * WAYS, PolicyConfig(policy))
    last: dict[int, Mapping] = {}
    inserted = 0
    for what, tag, pfn in ops:
        if what == "insert":
            last[tag] = Mapping(tag, pfn)
            assert array.insert(tag, last[tag], 0) >= 0
            inserted += 1
        elif what == "lookup":
            found = array.lookup(tag, 0)
            assert found is None or found is last.get(tag)
        elif what == "invalidate":
            there = array.lookup(tag, 0) is not None
            assert array.invalidate(tag) == there
            last.pop(tag, None)
        else:
            array.flush()
            last = {}
    room = config.entries * config.sub_entries * (2 if name == "base-delta" else 1)
    held = [tag for tag in last if array.lookup(tag, 0) is last[tag]]
    assert len(held) <= min(room, inserted)
    for tag in held:
        assert array.invalidate(tag)
    assert not any(array.lookup(tag, 0) for tag in last)


@pytest.mark.parametrize("policy", policy_names(Slot.REPLACEMENT))
@pytest.mark.parametrize("name", DENSE)
def test_a_flushed_array_fills_again(name: str, policy: str) -> None:
    array, config = made(DENSE, name, 2 * WAYS, PolicyConfig(policy))
    pages = [Mapping(vpn, vpn) for vpn in range(config.entries // 2 * config.sub_entries)]
    for _ in range(3):
        assert not any(array.insert(page.tag, page, 0) for page in pages)
        array.flush()
        assert not any(array.lookup(page.tag, 0) for page in pages)


@pytest.mark.parametrize(
    ("keys", "ways"),
    [
        ({"ways": 3}, 3),
        ({"ways": 3, "array": "sub-entry"}, 3),
        ({"ways": 6, "array": "sub-entry-groups"}, 6),
        ({"ways": 3, "array": "star", "sub_entries": 4}, 3),
        ({"ways": 3, "array": "cluster"}, 3),
        ({"ways": 6, "sets": "base-delta"}, 3),  # three plain ones, and three compressed ones
        ({"ways": 3, "sets": {"policy": "base-delta", "partitioned": False}}, 6),
        ({"ways": 4, "array": {"policy": "static-ways", "ways_of": "3/1"}}, 3),
    ],
)
def test_a_policy_that_cannot_serve_an_array_is_refused(keys: dict[str, Any], ways: int) -> None:
    table = {f"tlb.L2.{key}": value for key, value in {"entries": 24, **keys}.items()}
    with pytest.raises(UserError, match=f"tlb.L2.replacement = 'plru'.*power of two, not {ways}"):
        gpusim.load_model("tiny", overrides={**table, "tlb.L2.replacement": "plru"})
