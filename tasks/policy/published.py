"""Published model of a hub or a folder: its weights, and its tokenizer with its own or another chat template.

A laptop's stand-in for one is a small Qwen3 that `tasks.stand_in` trained, shipped with its card.
"""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from schemas.config.train_sections import PolicyConfig
from schemas.disk import file_sha256, read_text_file
from schemas.errors import InputError, causes_of
from schemas.source import REPOSITORY
from tasks.policy.control_tokens import opens_a_thought, with_plain_messages
from tasks.policy.generate import Message, as_messages, render

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

PUBLISHED_FILE: Final = "published.json"
"""File of a base model with the origin of a hub's model: name, revision and commit."""
CHATML_FILE: Final = Path(__file__).with_name("chat_template.jinja")
"""The shipped chat template of Qwen's family, without thoughts."""
STAND_IN_FOLDER: Final = REPOSITORY / "data" / "stand_in"
"""The shipped stand-in, as `save_pretrained` writes it."""
TEMPLATE_FILE: Final = "chat_template.jinja"
TOKENIZER_FILE: Final = "tokenizer.json"
CARD_FILE: Final = "card.json"
"""File of how it was trained, with the sha256 of each other file."""
KNOWN_FILE: Final = "known_prompts.parquet"
"""File of hashes of the prompts that it was trained on."""
TOKEN: Final = "set HF_TOKEN to a token that may read it"  # noqa: S105 - no password
ANSWER: Final = "ANSWER-TEXT"
QUESTION: Final = as_messages("SYSTEM-TEXT", "PROMPT-TEXT")
TURN: Final[list[Message]] = [*QUESTION, {"role": "assistant", "content": ANSWER}]


def chatml() -> str:
    """Return the shipped chat template."""
    return CHATML_FILE.read_text(encoding="utf-8").strip()


def given_template(policy: PolicyConfig) -> str | None:
    """Return the text of a policy's configured chat template, read from its file; None if it keeps its own."""
    if policy.chat_template is None:
        return None
    if policy.chat_template == "chatml":
        return chatml()
    try:
        return read_text_file(Path(policy.chat_template), "policy.chat_template")
    except FileNotFoundError:
        raise InputError(
            f"policy.chat_template {policy.chat_template} does not exist; give a Jinja file, or 'chatml'"
        ) from None


def read_tokenizer(policy: PolicyConfig, template: str | None = None) -> "PreTrainedTokenizerBase":
    """Load the tokenizer of a published model, with its own or the configured chat template.

    The template's variables are set in its first line, so that a saved copy renders the same everywhere.
    """
    from transformers import AutoTokenizer

    if policy.revision is not None and Path(policy.name).is_dir():
        raise InputError(
            f"policy.revision {policy.revision!r} is of a hub's repository, and policy.name {policy.name!r} is a "
            "folder; leave it out"
        )
    policy = _located(policy)
    try:
        tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(policy.name, revision=policy.revision)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise unavailable(policy, "tokenizer", error) from error
    # For a folder without tokenizer files, transformers invents one without any tokens.
    if not tokenizer.encode("a", add_special_tokens=False):
        raise InputError(f"policy.name {policy.name!r} has no tokenizer; add its files, or give another model")
    if template is None and tokenizer.chat_template is None:
        raise InputError(
            f"policy.name {policy.name!r} has no chat template, as Base models have none; set "
            "policy.chat_template='chatml', or give an Instruct model"
        )
    own = _with_variables(template or tokenizer.get_chat_template(), policy)
    tokenizer.chat_template = with_plain_messages(own, tokenizer)
    _require_answers_without_thoughts(tokenizer, policy)
    return tokenizer


def require_decoder(policy: PolicyConfig) -> None:
    """Refuse a model that is none, or writes no text, before its weights are read."""
    from transformers import AutoConfig
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    policy = _located(policy)
    try:
        kind = AutoConfig.from_pretrained(policy.name, revision=policy.revision).model_type
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise unavailable(policy, "model", error) from error
    if kind not in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        raise InputError(f"policy.name {policy.name!r} is a {kind}, which writes no text; give a model such as a Llama")


def read_weights(policy: PolicyConfig, **loading: Any) -> "PreTrainedModel":
    """Load the weights of a published model; InputError where there are none, or they are damaged."""
    from tasks.policy.load import read_whole_model

    policy = _located(policy)
    return read_whole_model(
        policy.name,
        f"policy.name {policy.name!r}",
        lambda error: unavailable(policy, "model", error),
        revision=policy.revision,
        **loading,
    )


def end_turns_with_eos(tokenizer: "PreTrainedTokenizerBase", policy: PolicyConfig) -> None:
    """Make the chat template's end-of-turn token the tokenizer's EOS token; a Base model's EOS ends documents."""
    after = _rendered(tokenizer, policy, TURN, to_answer=False).rpartition(ANSWER)[2]
    ending = next(iter(tokenizer.encode(after, add_special_tokens=False)), None)
    # Outside the added tokens, any text may start with the same token.
    if ending != tokenizer.eos_token_id and ending not in tokenizer.added_tokens_decoder:
        raise InputError(
            f"the chat template of policy.name {policy.name!r} ends a turn with {after.strip()!r}, which is no token "
            "of its vocabulary, so that no answer would end; set policy.chat_template to a Jinja file that ends turns "
            f"with its EOS token {tokenizer.eos_token!r}"
        )
    if tokenizer.pad_token is None:
        # The previous EOS token pads: the end of a turn must not be masked like padding.
        tokenizer.pad_token = tokenizer.eos_token
    tokenizer.eos_token = tokenizer.convert_ids_to_tokens(ending)


def unavailable(policy: PolicyConfig, what: str, error: Exception) -> InputError:
    """Return one sentence on why a named model cannot be loaded, with the remedy."""
    from huggingface_hub import errors

    name = f"policy.name {policy.name!r}"
    offline = (
        f"the model hub cannot be reached, and {name} is not downloaded; reach it once, set HF_ENDPOINT to a mirror of "
        "it, or set policy.name to the folder of a download"
    )
    faults: dict[type[Exception], str] = {
        # The library raises gated repositories as a subclass of not found.
        errors.GatedRepoError: f"{name} is gated on the model hub; accept its terms there, and {TOKEN}",
        errors.RepositoryNotFoundError: f"{name} is not on the model hub, or is private; correct it, or {TOKEN}",
        errors.RevisionNotFoundError: f"policy.revision {policy.revision!r} is no commit, tag or branch of {name}; "
        "correct it, or leave it out",
        errors.LocalEntryNotFoundError: offline,
        errors.OfflineModeIsEnabled: offline,
    }
    causes = causes_of(error)
    for fault, sentence in faults.items():
        if any(isinstance(cause, fault) for cause in causes):
            return InputError(sentence)
    reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
    return InputError(f"no {what} can be read from {name} ({reason}); give a hub name or the folder of a whole model")


def _with_variables(template: str, policy: PolicyConfig) -> str:
    """Return a chat template with its variables set in its first line."""
    for name in policy.chat_template_kwargs:
        if not re.search(rf"\b{name}\b", template):
            raise InputError(
                f"policy.chat_template_kwargs.{name} is no variable of the chat template of policy.name "
                f"{policy.name!r}; remove it, or correct its name"
            )
    return "".join(f"{{%- set {name} = {value!r} %}}" for name, value in policy.chat_template_kwargs.items()) + template


def _require_answers_without_thoughts(tokenizer: "PreTrainedTokenizerBase", policy: PolicyConfig) -> None:
    asked = _rendered(tokenizer, policy, QUESTION, to_answer=True)
    if opens_a_thought(asked[len(_rendered(tokenizer, policy, QUESTION, to_answer=False)) :]):
        raise InputError(
            f"the chat template of policy.name {policy.name!r} opens a thought in every answer, which would use up "
            "the completion; set policy.chat_template_kwargs.enable_thinking=false if it knows that variable, or "
            "policy.chat_template='chatml'"
        )


def _rendered(
    tokenizer: "PreTrainedTokenizerBase", policy: PolicyConfig, messages: list[Message], *, to_answer: bool
) -> str:
    from jinja2 import TemplateError

    try:
        return render(tokenizer, messages, to_answer=to_answer)
    except (TemplateError, TypeError, ValueError) as error:
        raise InputError(
            f"the chat template of policy.name {policy.name!r} cannot render a system text and a prompt "
            f"({type(error).__name__}); set policy.chat_template to one that can"
        ) from error


def shipped() -> Path:
    """Return the folder of the shipped stand-in, whose files are those that its card names."""
    digests()
    return STAND_IN_FOLDER


def digests() -> dict[str, str]:
    """Return the sha256 of each file of the shipped stand-in but its card, which are those that the card names."""
    remedy = "restore data/stand_in, or train it by `make stand-in`"
    try:
        files: dict[str, str] = dict(json.loads((STAND_IN_FOLDER / CARD_FILE).read_text(encoding="utf-8"))["files"])
        found = {file.name: file_sha256(file) for file in STAND_IN_FOLDER.iterdir() if file.name != CARD_FILE}
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "its card is no card"
        raise InputError(f"the stand-in in {STAND_IN_FOLDER} cannot be read ({reason}); {remedy}") from error
    altered = sorted(name for name in files | found if files.get(name) != found.get(name))
    if altered or not files:
        what = altered[0] if altered else CARD_FILE
        raise InputError(f"{what} of the stand-in in {STAND_IN_FOLDER} is not what its card names; {remedy}")
    return files


def _located(policy: PolicyConfig) -> PolicyConfig:
    """Return the policy by a name and a revision: the stand-in's name is its folder, whose files are verified."""
    if policy.stand_in:
        return PolicyConfig(name=str(shipped()), revision="main")
    return policy.model_copy(update={"revision": policy.revision or "main"})
