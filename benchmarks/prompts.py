"""Prompts of a simulated store that benchmarks work on."""

from pathlib import Path
from typing import Final

from schemas.config.config import SynthesizeConfig
from schemas.progress import silent
from tasks.synthesize import stage
from tasks.synthesize.mix import read_mix, split_count

MIX: Final = "extraction=40,sql_qa=40,insights=10,push=10"
"""Shares of the tasks in the V4.2 report."""
SEED: Final = 1


def make_prompts(count: int, mix: str, output: Path) -> None:
    """Write prompts to a folder, which is created, as the stage does."""
    output.mkdir(parents=True, exist_ok=True)
    # Without paraphrasing nothing is kept in a state folder.
    stage.run(SynthesizeConfig(counts=split_count(count, read_mix(mix))), SEED, output, silent, output)
