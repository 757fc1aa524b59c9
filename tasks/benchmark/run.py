"""A model's answers to the benchmark: at an OpenAI-compatible endpoint, or from a folder on this machine.

Answers are written to their file on arrival, so that an interrupted run resumes and none is paid for twice.
"""

import os
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

import orjson

from schemas.config.section import EndpointSection
from schemas.errors import InputError
from schemas.json_lines import stream_json_lines
from schemas.progress import Progress
from schemas.tasks import Guided
from tasks.benchmark.answers import BenchmarkAnswer
from tasks.benchmark.folder import BenchmarkItem
from tasks.commerce.registry import grammar_of
from tasks.policy.endpoint import Endpoint, EndpointError, EndpointQuestion, Reply
from tasks.policy.generate import as_messages, generate
from tasks.policy.load import ADAPTER_FOLDER

BATCH: Final = 32


class KeptAnswers:
    """File of the answers of one model under one decoding, to which each is added on arrival."""

    def __init__(self, path: Path, source: str) -> None:
        """Read the answers of an earlier, interrupted run of the same source; a partial last line is cut off."""
        self._path, self._source = path, source
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
            whole = path.read_bytes().rfind(b"\n") + 1
        except OSError as error:
            raise InputError(f"answers {path} cannot be written ({error.strerror}); give another file") from None
        known = [*stream_json_lines(path, BenchmarkAnswer, "answers", size=whole)] if whole else []
        if other := next((answer for answer in known if answer.source != source), None):
            raise InputError(
                f"answers {path} are of {str(other.source)[:200]!r} and not of {source!r}; give another file, or "
                "remove this one"
            )
        # Not before it is known to be a file of ours.
        os.truncate(path, whole)
        self.ids = {answer.id for answer in known}

    def add(self, answer: BenchmarkAnswer) -> None:
        """Write one answer."""
        document = answer.model_copy(update={"source": self._source}).model_dump(exclude_none=True)
        with self._path.open("ab") as file:
            file.write(orjson.dumps(document) + b"\n")
        self.ids.add(answer.id)


def run_endpoint(
    items: Sequence[BenchmarkItem],
    config: EndpointSection,
    output: Path,
    *,
    temperature: float,
    max_tokens: int,
    seed: int,
    progress: Progress,
) -> None:
    """Ask a model at an endpoint what has no answer yet."""
    source = f"{config.model}, temperature {temperature:g}, {max_tokens} tokens, seed {seed}"
    kept = KeptAnswers(output, source)
    endpoint = Endpoint(
        config,
        purpose="benchmark's",
        section="benchmark",
        otherwise="give a folder with --model",
        temperature=temperature,
        max_tokens=max_tokens,
    )
    missing = (item for item in items if item.id not in kept.ids)
    questions = [EndpointQuestion(item.id, item.system, item.prompt, seed) for item in missing]

    def keep(key: str, reply: Reply) -> None:
        kept.add(BenchmarkAnswer.model_validate({**asdict(reply), "id": key, "completion": reply.text}))
        progress(len(kept.ids), len(items), "answers")

    failure = endpoint.ask_all(questions, keep)
    if failure is not None:
        raise EndpointError(
            f"{failure}; {len(kept.ids)} of {len(items)} answers are in {output}, and none is asked again"
        )


def run_folder(
    items: Sequence[BenchmarkItem],
    model: Path,
    adapter: Path | None,
    output: Path,
    *,
    guided: Guided,
    temperature: float,
    max_tokens: int,
    seed: int,
    progress: Progress,
) -> None:
    """Answer by a model in a folder, on this machine, what has no answer yet."""
    import transformers

    from tasks.policy.load import load_policy, load_tokenizer

    transformers.utils.logging.disable_progress_bar()
    named = " with ".join(_name(path) for path in (model, adapter) if path is not None)
    decoding = f"temperature {temperature:g}, {max_tokens} tokens, seed {seed}, guided {guided}"
    kept = KeptAnswers(output, f"{named}, {decoding}")
    tokenizer, policy = load_tokenizer(model), load_policy(model, adapter, four_bit=False)
    for start in range(0, len(items), BATCH):
        batch = [item for item in items[start : start + BATCH] if item.id not in kept.ids]
        if not batch:
            continue
        started = time.monotonic()
        completions = generate(
            policy,
            tokenizer,
            [as_messages(item.system, item.prompt) for item in batch],
            temperature=temperature,
            max_tokens=max_tokens,
            batch_size=BATCH,
            seed=seed + start,
            grammars=[grammar_of(item.task, item.prompt, guided) for item in batch],
        )
        seconds = (time.monotonic() - started) / len(batch)
        for item, given in zip(batch, completions, strict=True):
            kept.add(
                BenchmarkAnswer(
                    id=item.id,
                    completion=given.text,
                    stop_reason=given.stop_reason.value,
                    completion_tokens=given.tokens,
                    seconds=seconds,
                )
            )
        progress(len(kept.ids), len(items), "answers")


def _name(folder: Path) -> str:
    """Return a folder's own name, which of an artifact is the beginning of its digest."""
    parts = [part for part in folder.resolve().parts if part not in {"content", ADAPTER_FOLDER}]
    return parts[-1][:40] if len(parts[-1]) < 64 else parts[-1][:12]
