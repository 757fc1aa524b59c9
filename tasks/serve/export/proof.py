"""Proof of an export: it is read back by another program than wrote it, and compared with the version, or refused."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from schemas.errors import GateRefused
from schemas.progress import Progress
from tasks.serve.export import checks
from tasks.serve.export.adapter import base_of
from tasks.serve.export.gguf_file import Precision, tensors_of
from tasks.serve.export.gguf_reader import REMEDY, as_ollama_reads, as_tokenizer, load_gguf, read_vocabulary, unreadable
from tasks.serve.export.modelfile import written_prompt
from tasks.serve.export.original import Original, load_exact, placed, rendered
from tasks.serve.export.rounding import round_weights
from tasks.serve.export.vocabulary import vocabulary_of

GGUF_READER: Final = "transformers' GGUF reader"
PLAIN_READER: Final = "transformers"
PEFT_READER: Final = "PEFT"
UNREADABLE: Final = (OSError, ValueError, KeyError, TypeError, RuntimeError)


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
    """Test prompts that both answered greedily; every token of each was compared, and of the probes besides."""
    equal: int
    """Answers that are equal."""
    tied: int
    """Answers that part where the version's two best tokens are equally likely."""
    difference: float
    """Root mean square difference of the log-probabilities of the answers' tokens, in nats."""
    noise: float
    """The same by rounding the version's own weights as the format defines."""
    rewards: list[float | None]
    """Each answer's; None where nothing is known of the right one."""


@dataclass(frozen=True)
class Version:
    """What an export is compared with."""

    weights: Path
    """Folder of the model."""
    original: Original
    progress: Progress


def rounding_noise(version: Version, precision: Precision) -> float:
    """Return what rounding a version's weights alone makes, as the root mean square difference in nats."""
    model = load_exact(version.weights)
    round_weights(model, version.weights, precision)
    return checks.difference(version.original.thoughts, version.original.thoughts_of(model))


def ollama_reads(version: Version, file: Path) -> bool:
    """Return whether Ollama would read a GGUF file's prompts as the same tokens."""
    vocabulary = as_ollama_reads(read_vocabulary(file), _config(version.weights).model_type)
    return checks.has_same_tokens(version.original, as_tokenizer(vocabulary))


def prove_gguf(version: Version, file: Path, modelfile: Path | None, precision: Precision) -> ExportProof:
    """Prove a GGUF file, and the Modelfile beside it.

    Args:
        version: The version.
        file: The GGUF file.
        modelfile: The Modelfile; None without one.
        precision: The file's type of matrices.

    Raises:
        GateRefused: It is not the version.
    """
    original, name = version.original, file.name
    model = placed(load_gguf(file))
    vocabulary = read_vocabulary(file)
    own = vocabulary_of(original.tokenizer, model.config.vocab_size)
    checks.require_same_vocabulary(name, own, vocabulary)
    try:
        tokenizer = as_tokenizer(vocabulary)
    except Exception as error:
        raise unreadable(file, error) from error
    _require_tokenizer(name, original, tokenizer)
    if modelfile is not None:
        text = modelfile.read_text(encoding="utf-8")
        asked = [(system["content"], user["content"]) for system, user in original.conversations]
        checks.require_same_prompts(modelfile.name, original, [written_prompt(text, *each) for each in asked])
    checks.require_same_shape(name, _config(version.weights), model.config)
    tensors = checks.require_same_weights(name, version.weights, model, precision)
    noise = rounding_noise(version, precision)
    found = _answer(version, name, model, GGUF_READER, tensors, noise, must_equal=precision == "F16")
    return found.model_copy(update={"modelfile": modelfile.name if modelfile is not None else None})


def prove_folder(version: Version, folder: Path) -> ExportProof:
    """Prove a folder of safetensors, whose weights keep their type.

    Raises:
        GateRefused: It is not the version.
    """
    from transformers import AutoTokenizer

    name = "the model"
    _require_equal_tensors(name, version.weights, folder)
    try:
        model, tokenizer = load_exact(folder), AutoTokenizer.from_pretrained(folder)
    except UNREADABLE as error:
        raise unreadable(folder, error) from error
    _require_tokenizer(name, version.original, tokenizer)
    if model.generation_config.eos_token_id != version.original.tokenizer.eos_token_id:
        raise GateRefused(
            f"{name} ends an answer with token {model.generation_config.eos_token_id}, and the version with "
            f"{version.original.tokenizer.eos_token_id}; {REMEDY}"
        )
    checks.require_same_shape(name, _config(version.weights), model.config)
    tensors = checks.require_same_weights(name, version.weights, model, None)
    return _answer(version, ".", model, PLAIN_READER, tensors, 0.0, must_equal=True)


def prove_adapter(version: Version, adapter: Path, own: Path, name: str) -> ExportProof:
    """Prove an adapter, by the base that it names.

    Args:
        version: The version; its weights are the base's.
        adapter: The exported adapter.
        own: The version's own adapter.
        name: The exported adapter's name in the exported folder.

    Raises:
        GateRefused: It is not the version.
    """
    from peft import AutoPeftModelForCausalLM
    from transformers import AutoTokenizer

    _require_equal_tensors(name, own, adapter)
    base = base_of(adapter)
    if base is None or not (adapter / base).is_dir():
        # PEFT would look for it on the hub.
        raise GateRefused(f"{name} names as its base {base!r}, which is no folder here; {REMEDY}")
    try:
        import torch

        model = AutoPeftModelForCausalLM.from_pretrained(adapter, dtype=torch.float32).eval()
        tokenizer = AutoTokenizer.from_pretrained(adapter)
    except UNREADABLE as error:
        raise unreadable(adapter, error) from error
    _require_tokenizer(name, version.original, tokenizer)
    tensors = sum(1 for _ in tensors_of(adapter))
    return _answer(version, name, placed(model), PEFT_READER, tensors, 0.0, must_equal=True)


def _answer(
    version: Version, name: str, model: Any, read_by: str, tensors: int, noise: float, *, must_equal: bool
) -> ExportProof:
    original = version.original
    apart = checks.difference(original.thoughts, original.thoughts_of(model))
    checks.require_within_noise(name, apart, noise)
    answers = original.answers_of(model, version.progress)
    agreement = checks.compare_answers(original, answers)
    if must_equal:
        checks.require_same_answers(name, agreement, len(answers))
    return ExportProof(
        name=name,
        read_by=read_by,
        tensors=tensors,
        prompts=len(answers),
        equal=agreement.equal,
        tied=agreement.tied,
        difference=apart,
        noise=noise,
        rewards=original.rewards_of(answers),
    )


def _require_tokenizer(name: str, original: Original, tokenizer: Any) -> None:
    checks.require_same_prompts(name, original, rendered(tokenizer, original.conversations))
    checks.require_same_tokens(name, original, tokenizer)


def _require_equal_tensors(name: str, own: Path, found: Path) -> None:
    """Require files with the same tensors, in the same types, bit by bit."""
    import torch

    try:
        exported = dict(tensors_of(found))
    except Exception as error:
        raise unreadable(found, error) from error
    for tensor, weights in tensors_of(own):
        other = exported.pop(tensor, None)
        if other is None or other.dtype != weights.dtype or not torch.equal(other, weights):
            raise GateRefused(f"{name} has no {tensor} with the version's numbers in {weights.dtype}; {REMEDY}")
    if exported:
        raise GateRefused(f"{name} has a tensor {min(exported)}, which the version has not; {REMEDY}")


def _config(folder: Path) -> Any:
    from transformers import AutoConfig

    return AutoConfig.from_pretrained(folder)
