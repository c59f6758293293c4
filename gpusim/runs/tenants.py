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
from gpusim.programs.kernel import maker_of
from gpusim.traces.application import TraceApplication
from gpusim.traces.inferred_arrays import with_arrays
from gpusim.workloads.builder import ApplicationSpec
from gpusim.workloads.workload import Workload


def assign_sms(model: LoadedModel, workload: Workload) -> list[Tenant]:
    """The applications of a workload on SMs of their own, or on all, as the model shares them.

    Raises:
        UserError: there are too few SMs, or instances that do not share any.
    """
    sharing: SmSharing = make_policy(Slot.SM_SHARING, model.config.sharing, model.config.clock)
    if sharing.shares_sms():
        return _on_all_sms(model, workload, sharing)
    tenants = []
    for spec, sms in zip(workload.applications, sms_of(model, workload), strict=True):
        if not sms:
            raise UserError(
                f"workload {workload.name!r}: application {spec.name!r} gets no SM: {model.name} "
                f"has {_sms_in_words(model, spec)} for {len(workload.applications)} applications"
            )
        application, again = _start(model, spec)
        restart = again if workload.relaunch and len(workload.applications) > 1 else None
        tenants.append(Tenant(spec.name, application, sms, restart, spec.instance, spec.share))
    return tenants


def _sms_in_words(model: LoadedModel, spec: ApplicationSpec) -> str:
    if spec.gpu is None:
        return f"{model.config.sms} SMs"
    return f"{model.config.sm.count} SMs on GPU {spec.gpu}"


def _on_all_sms(model: LoadedModel, workload: Workload, sharing: SmSharing) -> list[Tenant]:
    """The applications of a workload, each on all SMs, or on all of its GPU."""
    specs = workload.applications
    if any(spec.instance is not None for spec in specs):
        raise UserError(
            f"workload {workload.name!r} has MIG instances, each with SMs of its own: not with "
            f"sharing = {model.config.sharing.policy!r}"
        )
    if any(spec.gpu is not None for spec in specs):
        _check_gpus(model, workload)
        if sharing.next_slice(-1, [0]) is not None:
            raise UserError(
                f"workload {workload.name!r} names GPUs of applications, and "
                f"sharing = {model.config.sharing.policy!r} lets them take turns on all GPUs "
                'together: use "by-sm" or "mps"'
            )
    tenants = []
    for spec in specs:
        sms = range(model.config.sms) if spec.gpu is None else _sms_of_gpu(model, spec.gpu)
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
    """SMs of each application where each has its own."""
    return [len(sms) for sms in sms_of(model, workload)]


def sms_of(model: LoadedModel, workload: Workload) -> list[range]:
    """The SMs of each application where each has its own.

    They lie side by side: as many as an instance has, or as their shares say (equal if not given),
    on all GPUs of the machine or on the one that they name.
    """
    specs, config = workload.applications, model.config
    slices = [spec.instance for spec in specs if spec.instance is not None]
    if slices:
        _check_instances(model, workload, slices)
        ends = accumulate((config.instance(number).sm.count for number in slices), initial=0)
        return [range(first, last) for first, last in pairwise(ends)]
    _check_gpus(model, workload)
    found: dict[str, range] = {}
    for gpu in dict.fromkeys(spec.gpu for spec in specs):
        own = [spec for spec in specs if spec.gpu == gpu]
        sms = range(config.sms) if gpu is None else _sms_of_gpu(model, gpu)
        found.update(zip((spec.name for spec in own), _divided(sms, own), strict=True))
    return [found[spec.name] for spec in specs]


def _sms_of_gpu(model: LoadedModel, gpu: int) -> range:
    """The SMs of a GPU of a node."""
    count = model.config.sm.count
    return range(gpu * count, (gpu + 1) * count)


def _divided(sms: range, specs: Sequence[ApplicationSpec]) -> list[range]:
    """Some SMs, divided between applications by their shares."""
    given = [spec.share for spec in specs if spec.share is not None]
    equal = (1 - sum(given)) / max(len(specs) - len(given), 1)
    shares = [equal if spec.share is None else spec.share for spec in specs]
    bounds = [sms.start + round(len(sms) * share) for share in accumulate(shares, initial=0.0)]
    return [range(first, last) for first, last in pairwise(bounds)]


def _check_gpus(model: LoadedModel, workload: Workload) -> None:
    """Refuse GPUs that the machine does not have."""
    gpus = model.config.gpus
    for spec in workload.applications:
        if spec.gpu is not None and spec.gpu >= gpus:
            raise UserError(
                f"workload {workload.name!r}: application {spec.name!r} is of GPU {spec.gpu}, and "
                f"{model.name} has {gpus}, numbered from 0 on: set node.gpus"
            )


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
    makers = [maker_of(tenant.application) for tenant in tenants]
    return own_modules([*classes, *makers, *([] if attach is None else [attach])])
