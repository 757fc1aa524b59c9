"""Proof of an export: another program than wrote it reads it back, and answers test prompts as the version does.

What is read back has the version's own numbers in every tensor, but for what its format rounds, and gives the same
greedy answers.
"""

from collections.abc import Mapping, Sequence
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, ConfigDict

from schemas.errors import GateRefused
from schemas.progress import Progress
from tasks.serve.export.folders import base_of
from tasks.serve.export.gguf_file import HEAD, Precision, as_written, tensors_of
from tasks.serve.export.modelfile import written_prompt
from tasks.serve.export.original import Original, Thought, load_exact, placed, rendered

if TYPE_CHECKING:
    import torch

EXACT: Final = 1e-5
"""Root mean square difference of log-probabilities that is arithmetic alone: in float32, sums of another order."""
TIE: Final = 1e-4
"""Answers may part where the version's two best tokens are no further apart in log-probability."""
OTHER_FORMAT: Final = "nothing is exported; export it with --format safetensors"
REMEDY: Final = "nothing is exported; run the same command again, and report it as a fault if it stays"
UNREADABLE: Final = (OSError, ValueError, KeyError, TypeError, RuntimeError, IndexError)
GGUF_READER: Final = "transformers' GGUF reader"
PLAIN_READER: Final = "transformers"
PEFT_READER: Final = "PEFT"


class ExportProof(BaseModel):
    """Comparison of one exported file, or folder, with the version."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    """Name of the file in the exported folder; a dot for the folder itself."""
    read_by: str
    """Program that read it back."""
    modelfile: str | None = None
    """Name of the Modelfile beside a GGUF file; None without one."""
    tensors: int
    """Tensors whose every number was compared."""
    prompts: int
    """Test prompts that both answered greedily."""
    equal: int
    """Answers that are equal."""
    tied: int
    """Answers that part where the version's two best tokens are equally likely."""
    difference: float
    """Root mean square difference of the log-probabilities of the answers' tokens, in nats."""
    rewards: list[float | None]
    """Each answer's; None where nothing is known of the right one."""


def prove_gguf(
    original: Original, file: Path, modelfile: Path | None, precision: Precision, progress: Progress
) -> ExportProof:
    """Prove a GGUF file, and the Modelfile beside it.

    Args:
        original: The version.
        file: The GGUF file.
        modelfile: The Modelfile; None without one.
        precision: The file's type of matrices.
        progress: Called with the prompts that are answered.

    Raises:
        GateRefused: It is not the version.
    """
    import torch
    from gguf import GGUFReader
    from transformers import AutoConfig, AutoModelForCausalLM

    if modelfile is not None:
        text = modelfile.read_text(encoding="utf-8")
        asked = [(system["content"], user["content"]) for system, user in original.conversations]
        _require_same_prompts(modelfile.name, original, [written_prompt(text, *each) for each in asked])
    try:
        config = AutoConfig.from_pretrained(file.parent, gguf_file=file.name)
        # transformers does not read the size of Qwen3's heads, and takes Qwen3's usual one.
        config.head_dim = GGUFReader(file).fields[f"{config.model_type}.attention.key_length"].contents()
        model = AutoModelForCausalLM.from_pretrained(
            file.parent, gguf_file=file.name, config=config, dtype=torch.float32
        ).eval()
    except UNREADABLE as error:
        raise _unreadable(file, error) from error
    tied = AutoConfig.from_pretrained(original.weights).tie_word_embeddings
    own = {name: as_written(tensor, precision) for name, tensor in tensors_of(original.weights)}
    if tied:
        own.pop(HEAD, None)
    tensors = _compare_weights(file.name, own, dict(model.named_parameters()))
    may_differ = precision != "F16"
    proof = _answer(original, file.name, placed(model), GGUF_READER, tensors, progress, may_differ=may_differ)
    return proof.model_copy(update={"modelfile": modelfile.name if modelfile is not None else None})


def prove_folder(original: Original, folder: Path, progress: Progress) -> ExportProof:
    """Prove a folder of safetensors, whose weights keep their type.

    Raises:
        GateRefused: It is not the version.
    """
    from transformers import AutoTokenizer

    name = "the model"
    try:
        model, tokenizer = load_exact(folder), AutoTokenizer.from_pretrained(folder)
        own, found = dict(tensors_of(original.weights)), dict(tensors_of(folder))
    except Exception as error:
        raise _unreadable(folder, error) from error
    _require_same_tokens(name, original, tokenizer)
    end = original.tokenizer.eos_token_id
    if model.generation_config.eos_token_id != end:
        raise GateRefused(
            f"{name} ends an answer with token {model.generation_config.eos_token_id}, and the version with "
            f"{end}; {REMEDY}"
        )
    tensors = _compare_weights(name, own, found)
    return _answer(original, ".", model, PLAIN_READER, tensors, progress, exact=True)


def prove_adapter(original: Original, adapter: Path, own: Path, name: str, progress: Progress) -> ExportProof:
    """Prove an adapter, by the base that it names.

    Args:
        original: The version; its weights are the base's.
        adapter: The exported adapter.
        own: The version's own adapter.
        name: The exported adapter's name in the exported folder.
        progress: Called with the prompts that are answered.

    Raises:
        GateRefused: It is not the version.
    """
    import torch
    from peft import AutoPeftModelForCausalLM
    from transformers import AutoTokenizer

    base = base_of(adapter)
    if base is None or not (adapter / base).is_dir():
        # PEFT would look for it on the hub.
        raise GateRefused(f"{name} names as its base {base!r}, which is no folder here; {REMEDY}")
    try:
        tensors = _compare_weights(name, dict(tensors_of(own)), dict(tensors_of(adapter)))
        model = AutoPeftModelForCausalLM.from_pretrained(adapter, dtype=torch.float32).eval()
        tokenizer = AutoTokenizer.from_pretrained(adapter)
    except UNREADABLE as error:
        raise _unreadable(adapter, error) from error
    _require_same_tokens(name, original, tokenizer)
    return _answer(original, name, placed(model), PEFT_READER, tensors, progress, exact=True)


def _unreadable(file: Path, error: Exception) -> GateRefused:
    line = (str(error).splitlines() or [""])[0][:120].rstrip(".")
    return GateRefused(f"{file.name} cannot be read back ({type(error).__name__}: {line}); {REMEDY}")


def _require_same_prompts(name: str, original: Original, texts: Sequence[str]) -> None:
    for number, (own, found) in enumerate(zip(original.texts, texts, strict=True), start=1):
        at = parting(own, found)
        if at is not None:
            raise GateRefused(
                f"{name} writes prompt {number} of {len(texts)} otherwise than training, from character {at} on "
                f"({found[at : at + 20]!r} for {own[at : at + 20]!r}); {OTHER_FORMAT}"
            )


def _require_same_tokens(name: str, original: Original, tokenizer: Any) -> None:
    """Require that a tokenizer writes every prompt as training did, and reads it as the same tokens."""
    _require_same_prompts(name, original, rendered(tokenizer, original.conversations))
    for number, text in enumerate(original.texts, start=1):
        own = original.tokenizer.encode(text, add_special_tokens=False)
        found = tokenizer.encode(text, add_special_tokens=False)
        place = parting(own, found)
        if place is not None:
            raise GateRefused(
                f"{name} reads prompt {number} of {len(original.texts)} as other tokens, from token {place} on "
                f"({found[place : place + 4]} for {own[place : place + 4]}); {OTHER_FORMAT}"
            )


def parting(own: Sequence[Any], found: Sequence[Any]) -> int | None:
    """Return the first place where two sequences differ, or where the shorter one ends; None where they are equal."""
    place = next((number for number, (mine, its) in enumerate(zip(own, found, strict=False)) if mine != its), None)
    return min(len(own), len(found)) if place is None and len(own) != len(found) else place


def _compare_weights(name: str, own: Mapping[str, "torch.Tensor"], found: Mapping[str, "torch.Tensor"]) -> int:
    """Require the same tensors, in the same types, number by number; return how many they are."""
    import torch

    for tensor, weights in own.items():
        other = found.get(tensor)
        if other is None or other.dtype != weights.dtype or not torch.equal(other.detach().cpu(), weights):
            raise GateRefused(f"{name} has no {tensor} with the version's numbers in {weights.dtype}; {REMEDY}")
    if extra := sorted(set(found) - set(own)):
        raise GateRefused(f"{name} has a tensor {extra[0]}, which the version has not; {REMEDY}")
    return len(own)


def _answer(
    original: Original,
    name: str,
    model: Any,
    read_by: str,
    tensors: int,
    progress: Progress,
    *,
    exact: bool = False,
    may_differ: bool = False,
) -> ExportProof:
    """Let what was read back answer, and compare its answers.

    Args:
        original: The version.
        name: Name of the export.
        model: What was read back.
        read_by: The program that read it.
        tensors: Tensors that were compared.
        progress: Called with the prompts that are answered.
        exact: Whether its log-probabilities must be the version's, too.
        may_differ: Whether answers with other words are counted alone.
    """
    apart = difference(original.thoughts, original.thoughts_of(model))
    # Not `apart > EXACT`: NaN must not pass.
    if exact and not apart <= EXACT:
        raise GateRefused(
            f"{name} is {apart:.1e} nats a token from the version in the log-probabilities of its answers; {REMEDY}"
        )
    answers = original.answers_of(model, progress)
    equal = tied = 0
    for own, found, thought in zip(original.answers, answers, original.thoughts, strict=True):
        place = parting(own, found)
        equal += place is None
        tied += place is not None and place < len(own) and thought.gaps[place] <= TIE
    if equal + tied < len(answers) and not may_differ:
        other = len(answers) - equal - tied
        raise GateRefused(f"{name} answers {other} of {len(answers)} test prompts with other words; {REMEDY}")
    return ExportProof(
        name=name,
        read_by=read_by,
        tensors=tensors,
        prompts=len(answers),
        equal=equal,
        tied=tied,
        difference=apart,
        rewards=original.rewards_of(answers),
    )


def difference(own: Sequence[Thought], found: Sequence[Thought]) -> float:
    """Return the root mean square difference of the answers' tokens in log-probability."""
    pairs = [
        pair
        for mine, its in zip(own, found, strict=True)
        for pair in zip(mine.log_probabilities, its.log_probabilities, strict=True)
    ]
    return sqrt(sum((mine - its) ** 2 for mine, its in pairs) / len(pairs))
