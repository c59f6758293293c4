"""How many tokens of context the sequences of a serving batch have."""

from __future__ import annotations

from math import log

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

_P90 = 1.2815515655446004
"""Standard deviations from a normal distribution's median to its 90th percentile."""


@frozen
class Tokens:
    """A published distribution of token counts: log-normal (our choice), by two percentiles.

    Attributes:
        median: the 50th percentile.
        p90: the 90th.
    """

    median: float
    p90: float

    def draw(self, rng: np.random.Generator, count: int) -> NDArray[np.float64]:
        """(count,) numbers of tokens."""
        sigma = log(self.p90 / self.median) / _P90
        return rng.lognormal(log(self.median), sigma, count)


REQUESTS = {
    "sharegpt4": (Tokens(1730, 5696), Tokens(415, 834)),
    "arxiv": (Tokens(7059, 12985), Tokens(208, 371)),
}
"""Prompts and outputs of openchat_sharegpt4 and arxiv_summarization, as Table 2 of Sarathi-Serve
(Agrawal et al., OSDI 2024) states them."""

LENGTHS = ("fixed", *REQUESTS)
"""What the context of a batch's sequences may be."""


def contexts(lengths: str, batch: int, longest: int, seed: int) -> NDArray[np.int32]:
    """(batch,) tokens of each sequence, while its answer is written.

    Args:
        lengths: ``fixed``: all have `longest`; else a name of `REQUESTS`: a prompt and the part of
            an output that is there, which is equally likely to be any (our choice).
        batch: sequences.
        longest: tokens that the server allows.
        seed: of what is drawn.
    """
    if lengths == "fixed":
        return np.full(batch, longest, dtype=np.int32)
    rng = np.random.default_rng(seed)
    prompts, outputs = (tokens.draw(rng, batch) for tokens in REQUESTS[lengths])
    tokens = np.ceil(prompts + outputs * rng.random(batch))
    return np.clip(tokens, 1, longest).astype(np.int32)
