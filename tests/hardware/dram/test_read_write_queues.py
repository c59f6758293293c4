"""Reads and writes of a channel: the marks of the write drain, and reads of what is written."""

from __future__ import annotations

from gpusim.core.policy import PolicyConfig
from gpusim.hardware.dram.queue import FrFcfs
from tests.hardware.dram.parts import Parts, waiting


def test_writes_are_served_between_the_marks_while_reads_wait() -> None:
    queues = Parts(write_queue=8, drain_high=0.75, drain_low=0.25).queues
    writes = [waiting(0, 1, rank, write=True) for rank in range(8)]
    queues.add(waiting(0, 1, 100), 0)
    due = []
    for write in writes:
        due.append(queues.turn_is_due())
        queues.add(write, 0)
    assert due == [False] * 7 + [True], "more than three quarters of eight"
    queues.turn()
    assert queues.served is queues.writes
    due = []
    for write in writes:
        due.append(queues.turn_is_due())
        queues.remove(write)
    assert due == [False] * 7 + [True], "less than a quarter of eight"


def test_without_reads_writes_are_served_to_the_last() -> None:
    queues = Parts().queues
    assert queues.turn_is_due()
    queues.turn()
    queues.add(waiting(0, 1, 1, write=True), 0)
    assert not queues.turn_is_due()


def test_a_read_of_a_waiting_write_need_not_wait() -> None:
    queues = Parts().queues
    first, second = waiting(0, 1, 7, write=True), waiting(0, 1, 7, write=True)
    queues.add(first, 0)
    queues.add(second, 0)
    assert queues.add(waiting(0, 1, 8), 0)
    assert not queues.add(waiting(0, 1, 7), 0)
    queues.remove(first)
    assert not queues.add(waiting(0, 1, 7), 0)
    queues.remove(second)
    assert queues.add(waiting(0, 1, 7), 0)


def test_writes_wait_in_fr_fcfs_beside_a_policy_for_reads_alone() -> None:
    queues = Parts(scheduler=PolicyConfig("golden-silver-normal")).queues
    assert type(queues.writes) is FrFcfs
    assert type(queues.reads) is not FrFcfs
