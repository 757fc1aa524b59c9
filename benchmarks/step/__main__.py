"""Step of our trainer beside stock TRL's, in one process, one trainer after the other.

The model is the shipped stand-in, in NF4 with the profile's adapter, and the prompts are those of the local profile.
Both have the same prompts in each step, eight completions each, and completions of the same lengths: ours draws first,
and a logits processor lets each of stock's completions end at that length and nowhere else. Ours has the default recipe
and all that the pipeline has it do at each step: the rollout log, the alarms, the reports, and the checkpoints, which
threads write and mirror to a folder. Stock is TRL's `GRPOTrainer` with its own defaults and one reward function, the
total, which is its cheapest form; it saves nothing. Three things of stock are not as it ships: the log-probabilities
come of plain torch, since TRL's kernel is for GPUs; the adapter stays in float32, as a CPU only emulates bfloat16; and
activations are kept, not recomputed. No reference takes a completion's place, and no group is drawn in place of one
that teaches nothing, as stock does neither. Neither validates: both would do that alike.

A step's time is from its beginning to the next one's. Limits, by the clock: the median of a whole step of ours at most
.33 times that of stock, of sampling .2, of the update .55.
"""

import os
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.harness import Report, add_overrides, run_benchmark
from schemas.config.config import Config
from schemas.config.profiles import load_config
from schemas.progress import silent
from schemas.store.files import read_store
from schemas.tables.prompts import read_prompts
from tasks.policy.child import Channel
from tasks.policy.published import shipped
from tasks.synthesize import stage as synthesize

if TYPE_CHECKING:
    from benchmarks.step.trainers import Inputs, Times

ALIKE: Final = ("train.guided_correction.share=0", "train.dynamic_sampling.extra_groups=0")
"""Settings without which ours would sample more groups, or other completions, than stock."""
RESAMPLES: Final = 10_000
MAX_RATIOS: Final = {"whole step": 0.33, "sampling": 0.2, "update": 0.55}


def arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--steps", type=int, default=40, help="of each trainer")
    parser.add_argument("--base", type=Path, help="folder of a model; the shipped stand-in where not given")
    add_overrides(parser)


def measure(report: Report, options: Namespace) -> None:
    """Train with both."""
    os.environ["CUDA_VISIBLE_DEVICES"] = ""

    import transformers

    from benchmarks.step.trainers import WARM_UP, train_both

    transformers.utils.logging.disable_progress_bar()
    settings = [*ALIKE, *options.set, f"train.max_steps={options.steps + WARM_UP}"]
    config = load_config("local", settings)
    with tempfile.TemporaryDirectory() as name, Path(os.devnull).open("w", encoding="utf-8") as nobody:
        inputs = _inputs(config, Path(name) / "prompts", options.base or shipped())
        # Both print what they log.
        with redirect_stdout(nobody):
            ours, stock = train_both(config, Path(name), inputs, Channel(nobody))
    report_times(report, ours, stock)


def _inputs(config: Config, folder: Path, base: Path) -> "Inputs":
    """Make the profile's prompts, without those that are too long for it."""
    from benchmarks.step.trainers import Inputs
    from tasks.policy.generate import as_messages
    from tasks.policy.load import load_base, load_tokenizer

    tokenizer = load_tokenizer(base)
    folder.mkdir()
    synthesize.run(config.synthesize, config.seed, folder, silent)

    def tokens(system: str, prompt: str) -> int:
        text = tokenizer.apply_chat_template(as_messages(system, prompt), tokenize=False, add_generation_prompt=True)
        return len(tokenizer.encode(text, add_special_tokens=False))

    rows = [
        row
        for row in read_prompts(folder / "prompts.parquet")
        if tokens(row.system, row.prompt) <= config.curate.max_prompt_tokens
    ]
    four_bit = config.train.load_in_4bit
    return Inputs(read_store(folder / "store"), rows, tokenizer, lambda: load_base(base, four_bit=four_bit))


def report_times(report: Report, ours: "Times", stock: "Times") -> None:
    """Print the step's times, and note missed limits."""
    shown = {
        "whole step": (ours.wall, stock.wall),
        "sampling": (ours.parts["generation"], stock.parts["generation"]),
        "update": (ours.parts["update"], stock.parts["update"]),
        "rewards": (ours.parts["reward"], stock.parts["reward"]),
    }
    rows = []
    for name, (mine, others) in shown.items():
        found, low, high = ratio(mine, others)
        most = MAX_RATIOS.get(name)
        seconds = [f"{1000 * median(each):,.0f}" for each in (others, mine)]
        rows.append((name, *seconds, f"{found:.3f}", f"{low:.3f} {high:.3f}", "" if most is None else f"{most:g}"))
        if most is not None:
            report.limit(found <= most, f"{name}: {found:.3f} times stock's, limit {most:g}")
    columns = ("", "stock", "ours", "ours / stock", "95 % interval", "at most")
    report.table(f"A step, median of {len(ours.wall)}, in milliseconds", columns, rows)
    report.table(
        f"Sampled tokens a second; {sum(ours.tokens) / len(ours.tokens):,.0f} tokens a step",
        {"": "", "stock": ",.0f", "ours": ",.0f"},
        [
            (f"of {name}", *(sum(each.tokens) / sum(seconds) for each, seconds in ((stock, others), (ours, mine))))
            for name, (mine, others) in list(shown.items())[:2]
        ],
    )


def ratio(ours: Sequence[float], stock: Sequence[float]) -> tuple[float, float, float]:
    """Return the ratio of the medians with its 95 % interval: a percentile bootstrap over neighbouring steps."""
    pairs = np.array([ours, stock])
    drawn = pairs[:, np.random.default_rng(0).integers(len(ours), size=(RESAMPLES, len(ours)))]
    medians = np.median(drawn, axis=2)
    low, high = np.quantile(medians[0] / medians[1], [0.025, 0.975])
    return median(ours) / median(stock), float(low), float(high)


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
