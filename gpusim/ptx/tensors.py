"""Tensors of PyTorch on the CPU as numpy arrays of their memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpusim.core.errors import UserError

SMALL_FLOATS = {
    "bfloat16": (np.uint16, "bf16"),
    "float8_e4m3fn": (np.uint8, "fp8e4nv"),
    "float8_e5m2": (np.uint8, "fp8e5"),
}
"""Types of PyTorch that numpy lacks: whole numbers of their size, and Triton's names."""


def is_tensor(value: object) -> bool:
    """Whether a value is a tensor."""
    return hasattr(value, "data_ptr") and hasattr(value, "untyped_storage")


def type_name(tensor: Any) -> str:
    """The type of a tensor's elements, such as ``"float16"``."""
    return str(tensor.dtype).removeprefix("torch.")


def tensor_array(tensor: Any) -> NDArray[Any]:
    """The memory of a tensor from its first element to the end of its storage, in elements.

    It is a part of an array of the whole storage, as that of all tensors that share it.

    Raises:
        UserError: it does not lie on the CPU.
    """
    import torch

    if tensor.device.type != "cpu":
        raise UserError(f"a tensor on {tensor.device}: tensors must lie on the CPU")
    whole = torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage()).numpy()
    size = tensor.element_size()
    start = tensor.storage_offset() * size
    part = whole[start : start + (len(whole) - start) // size * size]
    name = type_name(tensor)
    found: NDArray[Any] = part.view(
        SMALL_FLOATS[name][0] if name in SMALL_FLOATS else np.dtype(name)
    )
    return found
