"""What policies say at the end of a run in which they never came to act, and when they say it."""

from __future__ import annotations

from gpusim.core.policy import Ending, Policy
from gpusim.hardware.cache import NeverBypass, TranslationAwareBypass
from gpusim.hardware.dram.golden_silver_normal import GoldenSilverNormal
from gpusim.hardware.sm.thrashing_aware import ThrashingAwarePlacement
from gpusim.hardware.tlb import MaskTokens
from tests.hardware.sm.requesters import requester
from tests.hardware.sm.test_schedulers import Placed


def told(*made: Policy, cycles: int = 500, apps: tuple[str, ...] = ("a", "b")) -> str:
    """The warnings of policies of one kind, a line each."""
    return "\n".join(type(made[0]).warnings(made, Ending("key", cycles, apps)))


def looked_up(policy: MaskTokens, app: int, *cycles: int) -> MaskTokens:
    policy.warp_began(0, 0, app, cycles[0])
    for cycle in cycles:
        policy.looked_up(requester(app), False, cycle)
    return policy


def test_most_policies_have_nothing_to_say() -> None:
    assert told(NeverBypass()) == ""


def test_tokens_whose_epoch_is_longer_than_the_run() -> None:
    policy = looked_up(looked_up(MaskTokens(2, 1, 1, epoch=1000), 0, 1, 400), 1, 400)
    assert told(policy) == (
        "'mask-tokens' never dealt out tokens: its epoch of 1000 cycles is longer than the run "
        "of 500 cycles; set key.epoch"
    )


def test_tokens_of_one_application() -> None:
    policy = looked_up(looked_up(MaskTokens(2, 1, 1, epoch=100), 0, 1, 250), 1, 99)
    assert told(policy) == (
        "'mask-tokens' never dealt out tokens to b: nothing was looked up after the first epoch "
        "of 100 cycles; set key.epoch"
    )
    assert told(looked_up(policy, 1, 101)) == ""


def test_tokens_of_applications_that_look_nothing_up_are_no_loss() -> None:
    assert told(MaskTokens(2, 1, 1)) == ""


def test_epochs_of_lookups() -> None:
    """Two TLBs: it is enough if one of them deals out tokens."""
    options = {"token_policy": "hillclimb", "accesses": 4}
    one, other = (MaskTokens(1, 1, 1, **options) for _ in range(2))
    looked_up(one, 0, 1, 2)
    looked_up(other, 0, 1, 2, 3)
    assert told(one, other, apps=("a",)) == (
        "'mask-tokens' never dealt out tokens: its epoch takes 4 lookups, there were 3; "
        "set key.accesses"
    )
    looked_up(other, 0, 4, 5)
    assert told(one, other, apps=("a",)) == ""


def test_a_bypass_that_never_compared_hit_rates() -> None:
    policy = TranslationAwareBypass(min_accesses=3)
    for depth in (0, 0, 0, 0, 1, 2, 2):
        policy.l2_lookup(depth, 0, True, 1)
    assert told(policy) == (
        "'translation-aware' never compared hit rates: no level of the page table had the 3 "
        "accesses that it needs first, the most were 2; set key.min_accesses"
    )
    policy.l2_lookup(2, 0, True, 1)
    assert told(policy) == ""
    assert told(TranslationAwareBypass(min_accesses=0)) == ""


def test_quotas_of_a_dram_queue() -> None:
    queues = [GoldenSilverNormal(16, 8, epoch=500, counted="epoch") for _ in range(2)]
    assert told(*queues, cycles=500) == (
        "'golden-silver-normal' never counted walks and stalled warps anew: its epoch of 500 "
        "cycles is longer than the run of 500 cycles; set key.epoch"
    )
    assert told(*queues, cycles=501) == ""
    assert told(*queues, apps=("alone",)) == ""


def test_a_placement_without_samples() -> None:
    policy = ThrashingAwarePlacement(min_samples=2)
    policy.tlb_lookup(0, False, 1)
    policy.pick(Placed(), 0, 2, lambda _: True)
    policy.tlb_lookup(0, False, 2)
    assert told(policy, apps=("a",)) == (
        "'thrashing-aware' placed all blocks as 'round-robin' does: no SM had the 2 lookups "
        "that it needs when a block was placed, the most were 1; set key.min_samples"
    )
    other = ThrashingAwarePlacement(min_samples=2)
    policy.pick(Placed(), 1, 2, lambda _: True)
    assert told(policy, apps=("a",)) == ""
    assert "placed all blocks of b as 'round-robin' does" in told(policy, other)
