"""PTX that something has damaged is executed, or refused with an error of a user."""

import random
import re

import numpy as np
import pytest

import gpusim
from gpusim.core.errors import UserError
from tests.ptx.tracing import DATA


def mutated(text, chance):
    """A text with some letters, lines or modifiers changed."""
    for _ in range(chance.randint(1, 3)):
        lines = text.split("\n")
        place, other = chance.randrange(len(lines)), chance.randrange(len(lines))
        way = chance.randrange(5)
        if way == 0:
            del lines[place]
        elif way == 1:
            lines.insert(place, lines[other])
        elif way == 2:
            word = chance.choice(re.findall(r"\.[a-z]\w+", text))
            lines[place] = re.sub(r"\.[a-z]\w+", word, lines[place], count=1)
        elif way == 3 and lines[place]:
            letter = chance.randrange(len(lines[place]))
            new = chance.choice("%;,.[]{}@!-0123456789abcr")
            lines[place] = lines[place][:letter] + new + lines[place][letter + 1 :]
        else:
            lines[place] = lines[place][: len(lines[place]) // 2]
        text = "\n".join(lines)
    return text


@pytest.mark.parametrize("seed", range(60))
def test_what_is_damaged_is_executed_or_refused(tmp_path, seed):
    chance = random.Random(seed)
    name = chance.choice(["scale", "accesses", "reduce", "bfs"])
    path = tmp_path / "k.ptx"
    path.write_text(mutated((DATA / f"{name}.ptx").read_text(), chance))
    try:
        run(path, chance)
    except UserError as error:
        assert str(error)  # noqa: PT017  (to be executed is right as well)


def run(path, chance):
    """Launch one of its kernels, and follow its accesses."""
    kernels = re.findall(r"\.entry (\w+)", path.read_text())
    kernel = gpusim.load_kernel(path, chance.choice(kernels) if kernels else "")
    arguments = [
        np.zeros(4096, np.uint8) if one.bytes == 8 else bytes(one.bytes) if one.bytes > 8 else 3
        for one in kernel.kernel.function.parameters
    ]
    with gpusim.capture() as captured:
        kernel.launch(2, 32, *arguments, shared=64, execute=chance.random() < 0.5)
    for launch in captured.application().launches():
        for block in range(launch.blocks):
            for _ in launch.run_block(block, 32):
                pass
