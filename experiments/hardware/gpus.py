"""Which measured GPUs a model stands for, and by which of its variants.

Cards of one family differ in clock, memory and how much of the chip is in use.  Who measured in
cycles of another card than the model's is held against the variant that has its clock and caches.
"""

from __future__ import annotations

from collections.abc import Mapping

GPUS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "v100": {"": ("V100", "Tesla V100", "GV100")},
    "a100": {"": ("A100", "NVIDIA A100"), "80gb": ("A100-80GB", "A100 80GB", "NVIDIA A100 80GB")},
    "h100": {
        "": ("H100", "NVIDIA H100", "H800"),
        "h200": ("H200", "NVIDIA H200"),
        "gh200": ("GH200", "NVIDIA GH200"),
        "pcie": ("H100-PCIe", "H100 PCIe", "NVIDIA H100 PCIe", "H800-PCIe", "H800 PCIe"),
    },
    "b200": {"": ("B200", "NVIDIA B200")},
    "l40": {"": ("L40", "NVIDIA L40")},
    "p100": {"": ("P100", "Tesla P100")},
    "k80": {"": ("K80", "Tesla K80")},
    "mi210": {"": ("MI210", "AMD Instinct MI210")},
    "mi300x": {"": ("MI300X", "AMD Instinct MI300X")},
    "rtx3070": {"": ("RTX3070", "RTX 3070"), "a40": ("A40", "NVIDIA A40")},
    "rtx4090": {"2235mhz": ("RTX4090", "RTX 4090")},
}
"""By model and variant (empty: the model itself), with what the names of GPUs begin."""


def variant_for(model: str, gpu: str) -> str | None:
    """The variant of a model that stands for a GPU, by the longest beginning; None: none does."""
    found = [
        (len(start), variant)
        for variant, starts in GPUS.get(model, {"": (model,)}).items()
        for start in starts
        if gpu.lower().startswith(start.lower())
    ]
    return max(found)[1] if found else None
