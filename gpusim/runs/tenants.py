"""The applications of a workload on the SMs of a machine, and whose code they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise

from gpusim.config.load import LoadedModel
from gpusim.core.errors import UserError, own_modules
from gpusim.core.registry import Slot, find_policy, make_policy
from gpusim.core.warp_program import Application
from gpusim.hardware.sm.sharing import SmSharing
from gpusim.machine import Machine, Tenant
from gpusim.machine.check_policies import policies_of
from gpusim.programs.program_function import FunctionProgram
from gpusim.traces.application import TraceApplication
from gpusim.traces.inferred_arrays import with_arrays
from gpusim.workloads.builder import ApplicationSpec
from gpusim.workloads.sampling import SampledProgram
from gpusim.workloads.workload import Workload


def assign_sms(model: LoadedModel, workload: Workload) -> list[Tenant]:
    """The applications of a workload on SMs of their own, or on all, as the model shares them.

    Raises:
        UserError: there are too few SMs, or instances that do not share any.
    """
    sharing: SmSharing = make_policy(Slot.SM_SHARING, model.config.sharing, model.config.clock)
    if sharing.shares_sms():
        return _on_all_sms(model, workload)
    tenants = []
    first = 0
    for spec, count in zip(workload.applications, sm_counts(model, workload), strict=True):
        if not count:
            raise UserError(
                f"workload {workload.name!r}: application {spec.name!r} gets no SM: {model.name} "
                f"has {model.config.sms} SMs for {len(workload.applications)} "
                "applications"
            )
        application, again = _start(model, spec)
        restart = again if workload.relaunch and len(workload.applications) > 1 else None
        sms = range(first, first + count)
        tenants.append(Tenant(spec.name, application, sms, restart, spec.instance, spec.share))
        first += count
    return tenants


def _on_all_sms(model: LoadedModel, workload: Workload) -> list[Tenant]:
    """The applications of a workload, each on all SMs."""
    specs = workload.applications
    if any(spec.instance is not None for spec in specs):
        raise UserError(
            f"workload {workload.name!r} has MIG instances, each with SMs of its own: not with "
            f"sharing = {model.config.sharing.policy!r}"
        )
    sms = range(model.config.sms)
    tenants = []
    for spec in specs:
        application, again = _start(model, spec)
        restart = again if workload.relaunch and len(specs) > 1 else None
        tenants.append(Tenant(spec.name, application, sms, restart, None, spec.share))
    return tenants


def _start(
    model: LoadedModel, spec: ApplicationSpec
) -> tuple[Application, Callable[[], Application]]:
    """A fresh application, and what makes further ones; where pages come on demand with arrays."""
    application = spec.start()
    if model.config.paging is None or not isinstance(application, TraceApplication):
        return application, spec.start
    placed = with_arrays(application)
    return placed, placed.start


def sm_counts(model: LoadedModel, workload: Workload) -> list[int]:
    """SMs of each application: by their instances, or by their shares (equal if not given)."""
    specs, config = workload.applications, model.config
    slices = [spec.instance for spec in specs if spec.instance is not None]
    if slices:
        _check_instances(model, workload, slices)
        return [config.instance(number).sm.count for number in slices]
    given = [spec.share for spec in specs if spec.share is not None]
    equal = (1 - sum(given)) / max(len(specs) - len(given), 1)
    shares = [equal if spec.share is None else spec.share for spec in specs]
    bounds = [round(config.sms * share) for share in accumulate(shares, initial=0.0)]
    return [last - first for first, last in pairwise(bounds)]


def _check_instances(model: LoadedModel, workload: Workload, slices: Sequence[int]) -> None:
    mig = model.config.mig
    why = mig.refusal(slices) if mig else "the model has no table [mig]"
    if why:
        instances = "+".join(f"{number}g" for number in slices)
        raise UserError(
            f"workload {workload.name!r} has MIG instances of {instances}, which {model.name} "
            f"cannot have: {why}"
        )


def own_modules_of(
    model: LoadedModel,
    tenants: Sequence[Tenant],
    attach: Callable[[Machine], None] | None = None,
) -> frozenset[str]:
    """Modules of the policies, programs and functions that are not gpusim's."""
    classes = [find_policy(slot, one.policy) for _, slot, one in policies_of(model.config)]
    makers = [_maker(tenant.application) for tenant in tenants]
    return own_modules([*classes, *makers, *([] if attach is None else [attach])])


def _maker(application: Application) -> object:
    """The class, or the generator function, that an application is made by."""
    whole = application.program if isinstance(application, SampledProgram) else application
    return whole.function if isinstance(whole, FunctionProgram) else type(whole)
