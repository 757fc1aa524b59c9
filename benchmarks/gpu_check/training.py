"""Training by the real child: preflight, validation, a kill in its third step, and its end after resuming."""

import json
import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from benchmarks.gpu_check.base import Row, Scale, row_of
from benchmarks.gpu_check.child import BEGINS, OBSERVED_FILE
from benchmarks.gpu_check.inputs import STEPS, UNINTERRUPTED, recipe_of, request_of
from schemas.errors import Interrupted
from tasks.checkpoints.address import open_mirror
from tasks.policy.child import ChildProcess, run_child
from tasks.train.preflight.check import PREFLIGHT_FILE
from tasks.train.request import TrainRequest
from tasks.train.resume.adapter_files import WEIGHTS_FILE

KILLED: Final = "killed"
ROUNDING: Final = 2.0**-8  # Relative rounding of bfloat16.
MIN_SAME: Final = 0.75
"""Least share of prompts whose first greedy token must not depend on the batch: bfloat16's rounding decides between
equally likely tokens, of which random weights have many."""


PLAIN: Final = "tasks.train.children.grpo"
WATCHED: Final = "benchmarks.gpu_check.child"
RESUMED: Final = "resumed at step "


@dataclass(frozen=True)
class Trained:
    """A child process that has ended."""

    metrics: Mapping[int, Mapping[str, float]]
    """Its reports after each step."""
    observed: Mapping[str, Any]
    """Records of `benchmarks.gpu_check.child`; empty for another child."""
    resumed_at: int | None
    """The step that it resumed at; None where it started from the beginning."""

    def mean(self, name: str) -> float | None:
        """Return a metric's mean over the steps but the first, which also compiles; None where it was not reported."""
        values = [metrics[name] for step, metrics in sorted(self.metrics.items())[1:] if name in metrics]
        return fmean(values) if values else None


def train(scale: Scale, request: TrainRequest, folder: Path, module: str, kill_in_step: int | None = None) -> Trained:
    """Run a child on a request in a folder, and kill it at the beginning of a step, counted from 1, if requested."""
    os.environ.update(scale.allocator_settings())
    metrics: dict[int, Mapping[str, float]] = {}
    children: list[ChildProcess] = []
    resumed: list[int] = []

    def hear(done: int, total: int, text: str) -> None:  # noqa: ARG001 - what `run_child` reports
        if kill_in_step is not None and text == f"{BEGINS}{kill_in_step}":
            os.killpg(children[0].pid, signal.SIGKILL)
        if text.startswith(RESUMED):
            resumed.append(int(text.removeprefix(RESUMED)))

    with suppress(Interrupted) if kill_in_step is not None else nullcontext():
        run_child(
            module,
            request,
            folder,
            interpreter=None,
            progress=hear,
            metrics=metrics.__setitem__,
            started=children.append,
        )
    file = folder / OBSERVED_FILE
    observed = json.loads(file.read_text(encoding="utf-8")) if module == WATCHED and file.exists() else {}
    return Trained(metrics, observed, resumed[0] if resumed else None)


def measure(scale: Scale, work: Path) -> Iterator[Row]:
    """Yield whether a killed training resumes and ends as an uninterrupted one, and the figures of both."""
    backend = "unsloth" if scale.on_gpu and find_spec("unsloth") else "transformers"
    recipe = recipe_of(scale, "l4", backend=backend)
    name = f"{backend} {'NF4' if recipe.load_in_4bit else 'unquantized'}"
    killed = request_of(scale, work, KILLED, recipe)
    folder = work / KILLED
    watched = train(scale, killed, folder, WATCHED, kill_in_step=STEPS)
    yield preflight_row(f"preflight, {name}", folder)
    yield from observed_rows(name, watched.observed)
    resumed = train(scale, killed.model_copy(update={"output": work / KILLED / "output"}), folder, WATCHED)
    yield _resumed_row(resumed)
    request = request_of(scale, work, UNINTERRUPTED, recipe)
    plain = train(scale, request, work / UNINTERRUPTED, PLAIN)
    yield _end_row(request, killed, work)
    yield speed_row(f"steps, {name}", plain, watched.observed, scale)


def preflight_row(name: str, folder: Path) -> Row:
    """Return how many of the preflight's checks passed."""
    found = json.loads((folder / PREFLIGHT_FILE).read_text(encoding="utf-8"))
    failed = [check["name"] for check in found["checks"] if not check["passed"]]
    passed = len(found["checks"]) - len(failed)
    measured = f"{passed} of {len(found['checks'])} checks passed in {found['seconds']:.0f} s"
    shown = f"{measured}; failed: {', '.join(failed)}" if failed else measured
    return row_of(name, shown, "all", {"checks": found["checks"]}, within=not failed)


def observed_rows(name: str, observed: Any) -> Iterator[Row]:
    """Yield the observations after the preflight and before the first validation."""
    types = observed["adapter_types"]
    yield row_of(f"adapter, {name}", " and ".join(types), "float32", {"types": types}, within=types == ["float32"])
    asked, first, whole = observed["asked"], observed["same_first_token"], observed["same_answer"]
    yield row_of(
        f"validation's answers, {name}",
        f"batched and alone: first token of {first}, whole answers of {whole} of {asked} the same; padding on the "
        f"{observed['padding']}",
        f"first tokens {MIN_SAME:.0%}, left",
        {"asked": asked, "same_first_token": first, "same_answer": whole},
        within=first >= MIN_SAME * asked and observed["padding"] == "left",
    )


def speed_row(name: str, trained: Trained, observed: Mapping[str, Any], scale: Scale) -> Row:
    """Return the time of a step, and the memory of its parts and all that the card holds at the end."""
    names = ("step_time", "seconds/generation", "seconds/update", "sampling/tokens_per_second")
    speed = {name: trained.mean(name) for name in names}
    step, tokens = speed["step_time"], speed["sampling/tokens_per_second"]
    parts = [f"{step:.2f} s a step, {tokens:,.0f} tokens/s sampled" if step and tokens else "no step was measured"]
    sizes = observed["peaks"] | ({"held at the end": observed["held_bytes"]} if "held_bytes" in observed else {})
    parts += [f"{part} {size / 1e9:.1f} GB" for part, size in sizes.items()]
    fits = max(sizes.values(), default=0) <= scale.gigabytes * 1e9
    limit = f"{scale.gigabytes:g} GB" if sizes else ""
    return row_of(name, "; ".join(parts), limit, {**speed, "bytes": sizes}, within=fits)


def _resumed_row(resumed: Trained) -> Row:
    restored = resumed.observed.get("restored", {"adapter": False, "optimizer": False})
    parts = [f"{name} {'' if same else 'NOT '}restored bit for bit" for name, same in restored.items()]
    return row_of(
        f"killed in step {STEPS} and resumed",
        f"at step {resumed.resumed_at}; {', '.join(parts)}",
        "both",
        {"resumed_at": resumed.resumed_at, **restored},
        within=bool(resumed.resumed_at) and all(restored.values()),
    )


def _end_row(request: TrainRequest, killed: TrainRequest, work: Path) -> Row:
    from safetensors.torch import load_file

    folders = [_final_checkpoint(of, work / f"final-{of.training}") for of in (request, killed)]
    wanted, found = (load_file(folder / WEIGHTS_FILE) for folder in folders)
    apart = max(float((found[name] - wanted[name]).abs().max()) for name in wanted)
    apart /= max(float(values.abs().max()) for values in wanted.values())
    learnt = max(float(values.abs().max()) for name, values in wanted.items() if "lora_B" in name)
    of_optimizer = ([each.read_bytes() for each in sorted(folder.glob("optimizer.*"))] for folder in folders)
    same_optimizer = next(of_optimizer) == next(of_optimizer)
    return row_of(
        "its end beside that of one that nobody killed",
        f"adapter {f'{apart:.1e} off' if apart else 'the same bit for bit'}, optimizer "
        f"{'the same' if same_optimizer else 'another'}; the adapter moved by {learnt:.1e}",
        f"{ROUNDING:.1e} off, moved",
        {"apart": apart, "learnt": learnt, "same_optimizer": same_optimizer},
        # A fresh adapter's second factor is zero: while it is, equality proves nothing.
        within=learnt > 0 and apart <= ROUNDING,
    )


def _final_checkpoint(request: TrainRequest, folder: Path) -> Path:
    mirror = open_mirror(request.mirror, request.training)
    final = mirror.pins()["final"]
    mirror.restore(next(manifest for manifest in mirror.manifests() if manifest.name == final), folder)
    return folder
