"""What each GPU of a node did, and what each asked of each other one."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from gpusim.results.result import Result

_PAIRS = "node/pair"


@frozen
class NodeShape:
    """How many of a component each GPU of a node has.

    Attributes:
        gpus: GPUs.
        each: components of a GPU, by their path.
    """

    gpus: int
    each: Mapping[str, int]


def node_shape(result: Result) -> NodeShape | None:
    """The shape of the node of a run; None: it ran on one GPU."""
    config = tomllib.loads(result.config_toml)
    node = config.get("node")
    if node is None or node["gpus"] < 2:
        return None
    each = {
        "sm": config["sm"]["count"],
        "walk": 1,
        "l2": config["l2"]["banks"],
        "dram": config["dram"]["channels"],
    }
    return NodeShape(node["gpus"], each)


def gpu_numbers(result: Result) -> pd.DataFrame | None:
    """Headline numbers of each GPU, all applications together.

    Returns:
        a row a number, with a column a GPU; None: there is one GPU.
    """
    shape = node_shape(result)
    if shape is None:
        return None
    import pandas as pd

    def of_gpus(path: str, *names: str) -> NDArray[np.int64]:
        rows = result.counters
        rows = rows[(rows.component == path) & rows.counter.isin(names)]
        gpu = rows.instance.to_numpy() // shape.each[path]
        return np.bincount(gpu, rows.value.to_numpy(), shape.gpus).astype(np.int64)

    asked = _matrix(result, shape, "requests")
    lookups = of_gpus("l2", "lookups")
    hits = of_gpus("l2", "hits") / np.maximum(lookups, 1)
    bytes_ = remote_bytes(result)
    numbers = {
        "warp instructions": of_gpus("sm", "instructions"),
        "transactions": of_gpus("sm", "transactions"),
        "page walks": of_gpus("walk", "walks"),
        "requests to other GPUs": asked.sum(axis=1),
        "requests of other GPUs": asked.sum(axis=0),
        "bytes moved for its requests": None if bytes_ is None else bytes_.sum(axis=1).to_numpy(),
        "L2 cache hit rate": hits,
        "DRAM reads and writes": of_gpus("dram", "data_reads", "walk_reads", "writes"),
    }
    return pd.DataFrame(numbers, index=range(shape.gpus)).T


def remote_bytes(result: Result) -> pd.DataFrame | None:
    """Bytes of requests and answers by the GPU that asks (rows) and the one that is asked.

    Returns:
        headers included, all applications together; None: there is one GPU.
    """
    shape = node_shape(result)
    if shape is None:
        return None
    import pandas as pd

    moved = _matrix(result, shape, "bytes_there", "bytes_back")
    return pd.DataFrame(moved, index=range(shape.gpus), columns=range(shape.gpus))


def _matrix(result: Result, shape: NodeShape, *names: str) -> NDArray[np.int64]:
    """Counters of pairs of GPUs, by the GPU that asks and the one that is asked."""
    rows = result.counters
    rows = rows[(rows.component == _PAIRS) & rows.counter.isin(names)]
    gpus = shape.gpus
    cells = np.bincount(rows.instance.to_numpy(), rows.value.to_numpy(), gpus * gpus)
    return cells.astype(np.int64).reshape(gpus, gpus)
