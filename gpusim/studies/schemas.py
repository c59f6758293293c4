"""JSON Schemas of the files that users write: models, recipes, workloads, sweeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import gpusim.machine.check_policies  # noqa: F401  (importing it registers all policies)
from gpusim.config.auxiliary import SideCacheConfig
from gpusim.config.json_schema import DRAFT, Schema, Schemas
from gpusim.config.roles import AUXILIARY
from gpusim.config.schema import GpuConfig
from gpusim.core.registry import policy_names
from gpusim.studies.sweep.spec import Sweep
from gpusim.workloads.tables import CollectionTable, WorkloadTable

_TEXT: Schema = {"type": "string"}
_NAMES: Schema = {"anyOf": [_TEXT, {"type": "array", "items": _TEXT}]}


def schema_of(kind: str) -> Schema:
    """The schema of a kind of files, one of `KINDS`."""
    title, made = KINDS[kind]
    return {"$schema": DRAFT, "title": title, **made()}


def _layer() -> tuple[Schemas, Schema]:
    """What is laid over a machine."""
    schemas = Schemas(policy_names, layer=True)
    table = schemas.table(GpuConfig)
    stage = schemas.definitions["StageConfig"]["properties"]
    stage["behind"] = {**_TEXT, "description": "puts it behind this stage, instead of a list"}
    return schemas, table


def _model() -> Schema:
    whole = Schemas(policy_names)
    model = whole.table(GpuConfig)
    schemas, table = _layer()
    layer = _renamed({**table, "definitions": schemas.definitions})
    inside = {f"Layer{name}": one for name, one in layer.pop("definitions").items()}
    layer["properties"]["based_on"] = _NAMES
    variants = {
        "type": "object",
        "description": "other machines, each by what differs",
        "additionalProperties": layer,
    }
    below = {**_TEXT, "description": "the model below this one"}
    over_a_base = {**layer, "properties": {**layer["properties"], "based_on": below}}
    for one in (model, over_a_base):
        one["properties"] = {**one["properties"], "variants": variants}
    return {
        "if": {"required": ["based_on"]},
        "then": over_a_base,
        "else": model,
        "definitions": {**whole.definitions, **inside},
    }


def _recipe() -> Schema:
    schemas, table = _layer()
    own = {"based_on": _NAMES, "requires": {"type": "object"}}
    own[AUXILIARY] = {"description": "all auxiliary caches", **schemas.of(SideCacheConfig)}
    properties = {**table["properties"], **own}
    del properties["name"]
    return {**table, "properties": properties, "definitions": schemas.definitions}


def _workload() -> Schema:
    schemas = Schemas(policy_names)
    one, several = schemas.table(WorkloadTable), schemas.table(CollectionTable)
    return {"anyOf": [one, several], "definitions": schemas.definitions}


def _sweep() -> Schema:
    schemas = Schemas(policy_names, lists=True)
    table = schemas.table(Sweep)
    del table["properties"]["name"]
    anything: Schema = {"type": "object"}
    table["properties"]["set"] |= {"additionalProperties": True}
    table["properties"]["exclude"] = {"type": "array", "items": anything}
    return {**table, "definitions": schemas.definitions}


def _renamed(value: Any) -> Any:
    """With all references to the definitions of layers."""
    if isinstance(value, dict):
        return {
            key: one.replace("/definitions/", "/definitions/Layer")
            if key == "$ref"
            else _renamed(one)
            for key, one in value.items()
        }
    return [_renamed(one) for one in value] if isinstance(value, list) else value


KINDS: Mapping[str, tuple[str, Callable[[], Schema]]] = {
    "model": ("a model of gpusim", _model),
    "recipe": ("a recipe of gpusim", _recipe),
    "workload": ("a workload of gpusim, or a collection of them", _workload),
    "sweep": ("a sweep of gpusim", _sweep),
}
"""Kinds of files: a title, and what makes the rest."""
