"""Operators that others wrote in Triton, line by line: the picture of `docs/kernels.md`.

``pip install 'gpusim[triton]' torch && pip install --no-deps liger-kernel conch-triton-kernels``,
then ``python docs/make_pictures/operators.py [FOLDER]``: half a minute.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from conch.ops.activation.silu_and_mul import silu_and_mul
from conch.ops.attention.paged_attention import paged_attention
from conch.ops.normalization.gemma_rms_norm import gemma_rms_norm
from conch.ops.quantization.int8 import static_scaled_int8_quant
from conch.ops.vllm.reshape_and_cache import reshape_and_cache
from liger_kernel.ops.cross_entropy import cross_entropy_forward
from liger_kernel.ops.geglu import geglu_forward
from liger_kernel.ops.group_norm import group_norm_forward
from liger_kernel.ops.kl_div import kldiv_forward_triton
from liger_kernel.ops.layer_norm import layer_norm_forward
from liger_kernel.ops.rms_norm import rms_norm_forward
from liger_kernel.ops.rope import rope_forward
from liger_kernel.ops.softmax import _softmax_forward
from liger_kernel.ops.sparsemax import _sparsemax_forward
from liger_kernel.ops.swiglu import swiglu_forward
from matplotlib.ticker import MaxNLocator
from rich.progress import track

import gpusim
from gpusim.views.plots import new_figure, save
from gpusim.views.timelines.code_lines import draw_code_lines

ROWS, WIDTH = 64, 4096


def numbers(*shape: int) -> torch.Tensor:
    """A tensor of random numbers."""
    return torch.randn(*shape)


def halves(*shape: int) -> torch.Tensor:
    """The same in 16 bits."""
    return torch.randn(*shape).half()


def _cache(blocks: int) -> tuple[torch.Tensor, torch.Tensor]:
    return halves(blocks, 16, 2, 64), halves(blocks, 16, 2, 64)


def _attend() -> Any:
    table = torch.randperm(256)[:128].reshape(4, 32).int()
    lengths = torch.tensor([512, 100, 400, 17]).int()
    return paged_attention(halves(4, 8, 64), *_cache(256), table, lengths)


def _append() -> Any:
    one, slots = torch.tensor(1.0), torch.randperm(4096)[:64]
    new = halves(64, 2, 64), halves(64, 2, 64)
    return reshape_and_cache(*new, *_cache(256), slots, "auto", one, one)


def _entropy() -> Any:
    target = torch.randint(0, 8000, (16,))
    return cross_entropy_forward(
        numbers(16, 8000), target, None, -100, 0.0, 0.0, "mean", None, False
    )


def _divergence() -> Any:
    given = numbers(16, 4000).log_softmax(-1), numbers(16, 4000).softmax(-1)
    return kldiv_forward_triton(*given, False, "batchmean", 1e-10)


def _rotate() -> Any:
    query, key = numbers(1, 8, 64, 64), numbers(1, 4, 64, 64)
    return rope_forward(query, key, numbers(1, 64, 64), numbers(1, 64, 64))


def _quantize() -> Any:
    out = torch.empty(ROWS, WIDTH, dtype=torch.int8)
    return static_scaled_int8_quant(out, numbers(ROWS, WIDTH), torch.tensor([0.1]))


def _norm(norm: Callable[..., Any], *more: Any) -> Any:
    return norm(numbers(ROWS, WIDTH), numbers(WIDTH), *more)


OPERATORS: dict[str, Callable[[], Any]] = {
    "liger: rms_norm": lambda: _norm(rms_norm_forward, 1e-6, 0.0, "llama", None),
    "liger: layer_norm": lambda: _norm(layer_norm_forward, numbers(WIDTH), 1e-6),
    "liger: softmax": lambda: _softmax_forward(numbers(ROWS, WIDTH)),
    "liger: sparsemax": lambda: _sparsemax_forward(numbers(ROWS, 1024), -1),
    "liger: cross_entropy": _entropy,
    "liger: kl_div": _divergence,
    "liger: swiglu": lambda: swiglu_forward(numbers(ROWS, WIDTH), numbers(ROWS, WIDTH)),
    "liger: geglu": lambda: geglu_forward(numbers(ROWS, WIDTH), numbers(ROWS, WIDTH)),
    "liger: rope": _rotate,
    "liger: group_norm": lambda: group_norm_forward(
        numbers(2, 16, 2048), 16, 4, numbers(16), numbers(16), 1e-6
    ),
    "conch: silu_and_mul": lambda: silu_and_mul(numbers(ROWS, WIDTH)),
    "conch: gemma_rms_norm": lambda: _norm(gemma_rms_norm, 1e-6),
    "conch: int8_quant": _quantize,
    "conch: paged_attention": _attend,
    "conch: reshape_and_cache": _append,
}


def main(folder: Path) -> None:
    """Run all on an H100, and draw a panel each."""
    warnings.simplefilter("ignore")  # of Triton's own
    torch.manual_seed(0)
    figure = new_figure("page", 9)
    panels = figure.subplots(-(-len(OPERATORS) // 3), 3).ravel()
    for panel, (name, run) in zip(panels, track(OPERATORS.items(), "running"), strict=True):
        with gpusim.capture_triton(name, capability=80) as captured:
            run()
        with gpusim.simulate("h100", captured, record=("blame",)) as result:
            draw_code_lines(result, "stall_cycles", ax=panel)
        panel.set_title(name, loc="left", fontsize=7)
        panel.set_xlabel("stall cycles", fontsize=6)
        panel.tick_params(labelsize=5)
        panel.xaxis.set_major_locator(MaxNLocator(3))
        panel.ticklabel_format(axis="x", style="plain")
        parts = [bars for bars in panel.containers if any(bar.get_width() for bar in bars)]
        panel.legend(handles=parts, fontsize=5, loc="lower right")
    save(panels[0], folder / "kernels_operators.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).parents[1] / "pictures")
