"""Proof of an export: another program than wrote it reads it back, and answers golden prompts as the version does.

The prompts are the version's own test prompts. What is read back must write each as the same text and tokens, give the
version's answers the same log-probability, but for what its format rounds, and answers them itself.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, ConfigDict

from schemas.errors import GateRefused
from schemas.progress import Progress
from schemas.references import knows_anything
from schemas.tables.prompts import PromptRow
from tasks.commerce.registry import score_rollout
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.policy.generate import COLD, Completion, Message, as_messages, generate, render
from tasks.policy.load import load_tokenizer
from tasks.serve.export.gguf_file import Precision

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

EXACT: Final = 1e-5
"""Most nats (root mean square a token) that weights of the same numbers may be apart: sums of another order."""
ROUNDED: Final[Mapping[Precision, float]] = {"F16": 2e-3, "Q8_0": 0.2}
"""The same of a GGUF file, whose numbers are rounded."""
OTHER_FORMAT: Final = "nothing is exported; export it with --format safetensors"
REMEDY: Final = "nothing is exported; run the same command again, and report it as a fault if it stays"
UNREADABLE: Final = (OSError, ValueError, KeyError, TypeError, RuntimeError, IndexError)
ANSWERED_AT_ONCE: Final = 32
PROBES: Final = (
    "  dois  blanks,\ttabs\n\n\nlinhas \n e um fim \n",
    "R$ 1.234,56 em 12x; nota 4,5/5; pedido nº 00099 às 7h30 (15/03/2017)",
    "Não chegou!!! péssimo... 😡👎🏽 “aspas” — travessão… ÇÃÕ ñ ü ß",
    "d'água, l'art, it's, we'RE, copo-d'água 'aspas'",
    '{"polarity": "negative", "score": 1}\r\nSELECT * FROM orders WHERE a<>b;',
    "日本語 русский العربية \u200b\u00a0fim",
)
"""Texts whose tokens are compared besides the prompts': what shops' texts rarely have, and splits by other rules."""


@dataclass(frozen=True)
class Original:
    """A version's own prompts, answers and rewards."""

    tokenizer: "PreTrainedTokenizerBase"
    rows: Sequence[PromptRow]
    conversations: Sequence[list[Message]]
    """The rows', and the probes'."""
    texts: Sequence[str]
    """The same as they are written."""
    databases: Databases | None
    """Copies of the store that sql_qa's questions are about; without them those are not scored."""
    longest: int
    """Tokens of the longest answer."""
    answers: Sequence[Completion] = ()
    log_probabilities: Sequence[list[float]] = ()
    """Of the answers' tokens, their ends included, in nats."""

    def rewards_of(self, answers: Sequence[Completion]) -> list[float | None]:
        """Return each answer's reward; None where nothing is known of the right one."""
        return [
            score_rollout(answer.as_rollout(row), self.databases).reward
            if knows_anything(row.reference) and (row.task != "sql_qa" or self.databases is not None)
            else None
            for row, answer in zip(self.rows, answers, strict=True)
        ]

    def answers_of(self, model: Any, progress: Progress) -> list[Completion]:
        """Return a model's most likely answers to the rows' prompts, drawn by transformers."""
        return generate(
            model,
            self.tokenizer,
            self.conversations[: len(self.rows)],
            temperature=COLD,
            max_tokens=self.longest,
            batch_size=ANSWERED_AT_ONCE,
            seed=0,
            progress=progress,
            stock=True,
        )

    def weighed_by(self, model: Any) -> list[list[float]]:
        """Return the log-probabilities that a model gives to the version's own answers."""
        return [self._weighed(model, text, answer.text) for text, answer in zip(self.texts, self.answers, strict=False)]

    def _weighed(self, model: Any, prompt: str, answer: str) -> list[float]:
        import torch

        before, tokens = (self.tokenizer.encode(text, add_special_tokens=False) for text in (prompt, answer))
        tokens = [*tokens, self.tokenizer.eos_token_id]
        ids = torch.tensor([[*before, *tokens]], device=model.device)
        with torch.inference_mode():
            logits = model(input_ids=ids, logits_to_keep=len(tokens) + 1).logits[0, :-1]
        likely = torch.log_softmax(logits.float(), dim=-1)
        return [float(likely[place, token]) for place, token in enumerate(tokens)]


def ask_original(
    model: Any, weights: Path, rows: Sequence[PromptRow], databases: Databases | None, longest: int, progress: Progress
) -> Original:
    """Let a version in float32, whose tokenizer is in `weights`, answer with at most `longest` tokens."""
    tokenizer = load_tokenizer(weights)
    asked = [*((row.system, row.prompt) for row in rows), *(("Responda.", probe) for probe in PROBES)]
    conversations = [as_messages(system, prompt) for system, prompt in asked]
    texts = [render(tokenizer, messages) for messages in conversations]
    unasked = Original(tokenizer, rows, conversations, texts, databases, longest)
    answered = replace(unasked, answers=unasked.answers_of(model, progress))
    return replace(answered, log_probabilities=answered.weighed_by(model))


def load_exact(folder: Path) -> Any:
    """Load a model in float32, on the GPU if there is one: rounding by arithmetic would hide faults."""
    import torch
    from transformers import AutoModelForCausalLM

    return placed(AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval())


def placed(model: Any) -> Any:
    """Move a model to the GPU, if there is one."""
    import torch

    return model.to("cuda:0") if torch.cuda.is_available() else model


class ExportProof(BaseModel):
    """Comparison of one exported file, or folder, with the version."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    """Name of the file in the exported folder; a dot for the folder itself."""
    read_by: str
    """Program that read it back."""
    modelfile: str | None = None
    """Name of the Modelfile beside a GGUF file; None without one."""
    prompts: int
    """Test prompts that both answered."""
    equal: int
    """Answers that are equal."""
    difference: float
    """Root mean square difference of the log-probabilities of the version's answers' tokens, in nats."""
    own_rewards: list[float | None]
    rewards: list[float | None]
    """Rewards of the version's answers, and of the export's; None where nothing is known of the right one."""


def prove_gguf(
    original: Original, file: Path, modelfile: str | None, precision: Precision, progress: Progress
) -> ExportProof:
    """Prove a GGUF file, beside which a Modelfile of this name stands."""
    import torch
    from gguf import GGUFReader
    from transformers import AutoConfig, AutoModelForCausalLM

    try:
        config = AutoConfig.from_pretrained(file.parent, gguf_file=file.name)
        # transformers does not read the size of Qwen3's heads, and takes Qwen3's usual one.
        config.head_dim = GGUFReader(file).fields[f"{config.model_type}.attention.key_length"].contents()
        named = {"gguf_file": file.name, "config": config, "dtype": torch.float32}
        model = AutoModelForCausalLM.from_pretrained(file.parent, **named).eval()
    except UNREADABLE as error:
        raise _unreadable(file, error) from error
    reader, limit = "transformers' GGUF reader", ROUNDED[precision]
    return _proof(original, file.name, placed(model), reader, limit, progress, modelfile=modelfile)


def prove_folder(original: Original, folder: Path, progress: Progress) -> ExportProof:
    """Prove a folder of safetensors."""
    from transformers import AutoTokenizer

    try:
        model, tokenizer = load_exact(folder), AutoTokenizer.from_pretrained(folder)
    except Exception as error:
        raise _unreadable(folder, error) from error
    _require_same_tokens("the model", original, tokenizer)
    end, found = original.tokenizer.eos_token_id, model.generation_config.eos_token_id
    if found != end:
        raise GateRefused(f"the model ends an answer with token {found}, and the version with {end}; {REMEDY}")
    return _proof(original, ".", model, "transformers", EXACT, progress)


def prove_adapter(original: Original, adapter: Path, name: str, progress: Progress) -> ExportProof:
    """Prove an adapter, which has this name in the exported folder, by the base that it names."""
    import torch
    from peft import AutoPeftModelForCausalLM
    from transformers import AutoTokenizer

    base = json.loads((adapter / "adapter_config.json").read_text(encoding="utf-8")).get("base_model_name_or_path")
    if base is None or not (adapter / base).is_dir():
        # PEFT would look for it on the hub.
        raise GateRefused(f"{name} names as its base {base!r}, which is no folder here; {REMEDY}")
    try:
        model = AutoPeftModelForCausalLM.from_pretrained(adapter, dtype=torch.float32).eval()
        tokenizer = AutoTokenizer.from_pretrained(adapter)
    except UNREADABLE as error:
        raise _unreadable(adapter, error) from error
    _require_same_tokens(name, original, tokenizer)
    return _proof(original, name, placed(model), "PEFT", EXACT, progress)


def _unreadable(file: Path, error: Exception) -> GateRefused:
    line = (str(error).splitlines() or [""])[0][:120].rstrip(".")
    return GateRefused(f"{file.name} cannot be read back ({type(error).__name__}: {line}); {REMEDY}")


def _require_same_tokens(name: str, original: Original, tokenizer: Any) -> None:
    """Require that a tokenizer writes every prompt as training did, and reads it as the same tokens."""
    texts = [render(tokenizer, messages) for messages in original.conversations]
    for number, (own, found) in enumerate(zip(original.texts, texts, strict=True), start=1):
        which = f"prompt {number} of {len(texts)}"
        if own != found:
            raise GateRefused(f"{name} writes {which} otherwise than training; {OTHER_FORMAT}")
        if len({tuple(each.encode(own, add_special_tokens=False)) for each in (original.tokenizer, tokenizer)}) > 1:
            raise GateRefused(f"{name} reads {which} as other tokens than training; {OTHER_FORMAT}")


def _proof(
    original: Original, name: str, model: Any, read_by: str, limit: float, progress: Progress, **beside: Any
) -> ExportProof:
    """Compare the log-probabilities of the version's answers, and let what was read back answer."""
    pairs = zip(original.log_probabilities, original.weighed_by(model), strict=True)
    squares = [(own - found) ** 2 for mine, its in pairs for own, found in zip(mine, its, strict=True)]
    apart = sqrt(sum(squares) / len(squares))
    # Not `apart > limit`: NaN must not pass.
    if not apart <= limit:
        raise GateRefused(
            f"{name} is {apart:.1e} nats a token from the version in the log-probabilities of its answers, and may be "
            f"{limit:g}; {REMEDY}"
        )
    answers = original.answers_of(model, progress)
    return ExportProof(
        name=name,
        read_by=read_by,
        prompts=len(answers),
        equal=sum(own == found for own, found in zip(original.answers, answers, strict=True)),
        difference=apart,
        own_rewards=original.rewards_of(original.answers),
        rewards=original.rewards_of(answers),
        **beside,
    )
