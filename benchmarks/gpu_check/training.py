"""Training by the real child: preflight, validation, a kill in its third step, and its end after resuming."""

import json
from collections.abc import Iterator
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from benchmarks.gpu_check.inputs import STEPS, recipe_of, request_of
from benchmarks.gpu_check.row import Row, row_of
from benchmarks.gpu_check.scale import Scale
from benchmarks.gpu_check.trained import PLAIN, WATCHED, Trained, describe_speed, train
from tasks.checkpoints.address import open_mirror
from tasks.train.preflight.check import PREFLIGHT_FILE
from tasks.train.request import TrainRequest
from tasks.train.resume.adapter_files import WEIGHTS_FILE

UNINTERRUPTED: Final = "training"
"""Its folder and its key in the mirror; later groups read its adapter."""
KILLED: Final = "killed"
ROUNDING: Final = 2.0**-8
"""Relative rounding of bfloat16."""
LEAST_SAME: Final = 0.75
"""Least share of prompts whose first greedy token must not depend on the batch: bfloat16's rounding decides between
equally likely tokens, of which random weights have many."""


def measure(scale: Scale, work: Path) -> Iterator[Row]:
    """Yield the figures of a training on this GPU, and whether a killed one ends as an uninterrupted one."""
    backend = "unsloth" if scale.on_gpu and find_spec("unsloth") else "transformers"
    recipe = recipe_of(scale, "l4", backend=backend)
    name = f"{backend} {'NF4' if recipe.load_in_4bit else 'unquantized'}"
    killed = request_of(scale, work, KILLED, recipe)
    folder = work / KILLED
    watched = train(scale, killed, folder, WATCHED, kill_in_step=STEPS)
    yield preflight_row(f"preflight, {name}", folder)
    yield from observed_rows(name, watched.observed)
    request = request_of(scale, work, UNINTERRUPTED, recipe)
    plain = train(scale, request, work / UNINTERRUPTED, PLAIN)
    peak = max(watched.observed["peaks"].values(), default=None)
    yield speed_row(name, plain, peak, scale)
    resumed = train(scale, killed.model_copy(update={"output": work / KILLED / "output"}), folder, WATCHED)
    yield _resumed_row(request, killed, resumed, work)


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
    beside, scales = observed["scales_beside_weights"], observed["scales"]
    measured = f"{beside} of {scales} weights have their scales beside them" if scales else "nothing is quantized"
    yield row_of(f"quantized weights, {name}", measured, "all", within=beside == scales)
    asked, first, whole = observed["asked"], observed["same_first_token"], observed["same_answer"]
    yield row_of(
        f"validation's answers, {name}",
        f"batched and alone: first token of {first}, whole answers of {whole} of {asked} the same; padding on the "
        f"{observed['padding']}",
        f"first tokens {LEAST_SAME:.0%}, left",
        {"asked": asked, "same_first_token": first, "same_answer": whole},
        within=first >= LEAST_SAME * asked and observed["padding"] == "left",
    )


def speed_row(name: str, trained: Trained, peak: int | None, scale: Scale) -> Row:
    """Return the time and memory of a step."""
    speed = trained.speed()
    measured, limit = describe_speed(speed), ""
    if peak is not None:
        measured, limit = f"{measured}, peak {peak / 1e9:.1f} GB", f"{scale.gigabytes:g} GB"
    fits = peak is None or peak <= scale.gigabytes * 1e9
    return row_of(f"steps, {name}", measured, limit, {**speed, "peak_bytes": peak}, within=fits)


def _resumed_row(request: TrainRequest, killed: TrainRequest, resumed: Trained, work: Path) -> Row:
    from safetensors.torch import load_file

    folders = [_final_checkpoint(of, work / f"final-{of.training}") for of in (request, killed)]
    wanted, found = (load_file(folder / WEIGHTS_FILE) for folder in folders)
    apart = max(float((found[name] - wanted[name]).abs().max()) for name in wanted)
    apart /= max(float(values.abs().max()) for values in wanted.values())
    learnt = max(float(values.abs().max()) for name, values in wanted.items() if "lora_B" in name)
    optimizers = [_digest(folder, "optimizer") for folder in folders]
    restored = resumed.observed.get("restored", {"adapter": False, "optimizer": False})
    measured = (
        f"at step {resumed.resumed_at}; adapter {'restored' if restored['adapter'] else 'NOT restored'}, optimizer "
        f"{'restored' if restored['optimizer'] else 'NOT restored'} bit for bit; at the end the adapter is "
        f"{f'{apart:.1e} off' if apart else 'the same bit for bit'}, the optimizer "
        f"{'the same' if len(set(optimizers)) == 1 else 'another'}"
    )
    return row_of(
        f"killed in step {STEPS} and resumed",
        measured,
        f"restored, {ROUNDING:.1e} off",
        {
            "apart": apart,
            "learnt": learnt,
            "same_optimizer": len(set(optimizers)) == 1,
            "resumed_at": resumed.resumed_at,
            **restored,
        },
        # A fresh adapter's second factor is zero: while it is, equality proves nothing.
        within=learnt > 0 and bool(resumed.resumed_at) and all(restored.values()) and apart <= ROUNDING,
    )


def _final_checkpoint(request: TrainRequest, folder: Path) -> Path:
    mirror = open_mirror(request.mirror, request.training)
    final = mirror.pins()["final"]
    mirror.restore(next(manifest for manifest in mirror.manifests() if manifest.name == final), folder)
    return folder


def _digest(folder: Path, name: str) -> str:
    digest = sha256()
    for file in sorted(folder.glob(f"{name}.*")):
        digest.update(file.read_bytes())
    return digest.hexdigest()
