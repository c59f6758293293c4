"""Tenants: applications on a machine, with the SMs that each has."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attrs import frozen

from gpusim.core.warp_program import Application


@frozen(repr=False)
class Tenant:
    """An application and the SMs that it runs on.

    Attributes:
        name: for results.
        application: the program, freshly started.
        sms: indices of its SMs.
        restart: makes a fresh application, which runs when it has ended and others have not yet
            run once; None: it runs only once.
        instance: slices of its MIG instance, whose SMs are `sms`; None: it has the memory system
            together with all others.
        share: what its workload says of its part of the SMs; None: nothing.
        timed: the launches of `application` that run, where that is not all of them.
    """

    name: str
    application: Application
    sms: Sequence[int]
    restart: Callable[[], Application] | None = None
    instance: int | None = None
    share: float | None = None
    timed: Application | None = None
