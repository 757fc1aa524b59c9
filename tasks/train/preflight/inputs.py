"""Preflight checks of the inputs: the audit, the tokenizer and its chat template, the prompts."""

import copy
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from schemas.config.train import TrainConfig
from schemas.config.train_sections import PolicyConfig, PreflightSection
from schemas.documents import AuditRecord, read_audit_record
from schemas.errors import GateRefused, InputError
from schemas.tables.prompts import PromptRow
from schemas.tasks import SpecName, TaskName
from tasks.commerce.registry import joint_version, reward_version
from tasks.policy.control_tokens import control_tokens_of
from tasks.policy.generate import Message, as_messages, render, tokens_of
from tasks.policy.published import end_turns_with_eos, read_tokenizer, require_decoder
from tasks.train.preflight.check import Check, checked

AUDIT_REMEDY: Final = "audit the rewards of this version and of each task with `tucano audit`, or run what was audited"
SYSTEM: Final = "Você é um assistente."
QUESTION: Final = "Onde está meu pedido?"
ANSWER: Final = "Chegou ontem."
PORTUGUESE: Final = "Não é só atenção: ação, pôr, última, três, à mão, linguiça, R$ 1.299,90 — 5 ★ 😀👍🏽🇧🇷\n- «ótimo»"
"""Every accent of Portuguese, money, and emoji of one and of several code points."""
TURN: Final[list[Message]] = [*as_messages(SYSTEM, QUESTION), {"role": "assistant", "content": ANSWER}]


def require_audit(folder: Path, spec: SpecName, tasks: Iterable[TaskName]) -> AuditRecord:
    """Return the record of the audit that permits a training."""
    record, wanted = read_audit_record(folder), set(tasks)
    unaudited = sorted(wanted - record.tasks.keys())
    changed = sorted(
        task for task in wanted & record.tasks.keys() if record.reward_versions.get(task) != reward_version(task, spec)
    )
    faults = []
    if record.spec != spec or (changed and not record.reward_versions):
        faults.append(
            f"it is of the rewards {record.spec} {record.reward_version[:12]}, and these are {spec} "
            f"{joint_version(spec)[:12]}"
        )
    elif changed:
        faults.append(f"the rewards of {', '.join(changed)} are others than those that it audited")
    if record.verdict != "passed":
        faults.append(f"it refused: {'; '.join(record.reasons[:3])}")
    if unaudited:
        faults.append(f"it says nothing of {', '.join(unaudited)}")
    if faults:
        raise GateRefused(f"the audit in {folder} lets no training start: {'; '.join(faults)}; {AUDIT_REMEDY}")
    return record


def _template_fault(tokenizer: Any) -> str | None:
    question = render(tokenizer, TURN[:-1], to_answer=False)
    asked = render(tokenizer, TURN[:-1])
    answered = render(tokenizer, TURN, to_answer=False)
    if not 0 <= question.find(SYSTEM) < question.find(QUESTION):
        return "it does not show the system text and then the user's"
    if not asked.startswith(question) or asked == question:
        return "it does not open the assistant's turn"
    if not answered.startswith(asked) or not answered[len(asked) :].lstrip().startswith(ANSWER):
        return "a rendered prompt does not end where the answer begins"
    # Bytes that are merged over whole texts may join the template's last line feed with an answer's first word.
    asked_ids, answered_ids = (tokenizer.encode(text, add_special_tokens=False) for text in (asked, answered))
    if answered_ids[: len(asked_ids)] != asked_ids:
        return "the end of a prompt and the start of an answer are one token, which no sampling could continue"
    return None


def check_tokenizer(tokenizer: Any) -> list[Check]:
    """Check the tokenizer and its chat template, which renders: the base stage has refused any other.

    The template ends a prompt where the answer begins, and a turn with EOS; no prompt can hold a control token of the
    policy, whatever it is; padding is masked and on the left; text comes back as it was.
    """
    template, padding = _template_fault(tokenizer), _padding_fault(tokenizer)
    control = control_tokens_of(tokenizer)
    found, own = (
        Counter(tokens_of(tokenizer, as_messages(text, text))) for text in (f"a {' a '.join(control)} a", "a")
    )
    kept = [token for token in control if found[number := tokenizer.convert_tokens_to_ids(token)] > own[number]]
    after = tokenizer.encode(render(tokenizer, TURN, to_answer=False).rpartition(ANSWER)[2], add_special_tokens=False)
    ending = tokenizer.convert_ids_to_tokens(after[0]) if after else "nothing"
    ids = tokenizer.encode(PORTUGUESE, add_special_tokens=False)
    same = tokenizer.decode(ids, skip_special_tokens=True) == PORTUGUESE
    in_prompts = f"prompts can hold {', '.join(kept)}" if kept else f"{len(control)}, none in a prompt"
    ends = f"the template ends a turn with {ending!r}, and EOS is {tokenizer.eos_token!r}"
    came_back = f"{len(PORTUGUESE)} characters in {len(ids)} tokens came back {'as they were' if same else 'changed'}"
    return [
        checked("chat_template", template is None, template or "system, user, and then the answer"),
        checked("control_tokens", not kept, in_prompts),
        checked("end_of_turn", bool(after) and after[0] == tokenizer.eos_token_id, ends),
        checked("padding", padding is None, padding or "masked, on the left"),
        checked("round_trip", same, came_back),
    ]


def _padding_fault(tokenizer: Any) -> str | None:
    if missing := [name for name in ("pad_token", "eos_token") if getattr(tokenizer, name) is None]:
        return f"no {' and no '.join(missing)}"
    alone = [len(tokenizer(text, add_special_tokens=False)["input_ids"]) for text in (ANSWER, PORTUGUESE)]
    masks = tokenizer([ANSWER, PORTUGUESE], padding=True, add_special_tokens=False)["attention_mask"]
    if [sum(mask) for mask in masks] != alone:
        return "padding is not masked"
    return "padding on the right, after which a model does not go on" if masks[0][-1] == 0 else None


def read_fit_tokenizer(policy: PolicyConfig, template: str | None) -> Any:
    """Load a published model's tokenizer as training takes it; refuse one that no training could use, and its model."""
    require_decoder(policy)
    tokenizer = read_tokenizer(policy, template)
    end_turns_with_eos(tokenizer, policy)
    padded = copy.deepcopy(tokenizer)
    padded.padding_side = "left"
    for check in check_tokenizer(padded):
        if not check.passed:
            raise InputError(f"policy.name {policy.name!r}: {check.name}: {check.measured}; {check.remedy}")
    return tokenizer


def _length(tokenizer: Any, row: PromptRow) -> int:
    return len(tokens_of(tokenizer, as_messages(row.system, row.prompt)))


def longest_prompt(tokenizer: Any, rows: Sequence[PromptRow]) -> PromptRow:
    """Return the prompt with the most tokens, chat template included; the first of equals."""
    return max(rows, key=lambda row: _length(tokenizer, row))


def check_prompt_budget(
    tokenizer: Any, rows: Sequence[PromptRow], context: int, max_prompt_tokens: int, recipe: TrainConfig
) -> Check:
    """Check that no prompt exceeds its limit, and that the longest completion fits behind it."""
    most = min(max_prompt_tokens, context - recipe.max_completion_tokens)
    lengths = [_length(tokenizer, row) for row in rows]
    over = sum(length > most for length in lengths)
    measured = f"{over} of {len(rows)} prompts are over, the longest with {max(lengths)} tokens"
    sizes: dict[str, Any] = {"prompt": max_prompt_tokens, "completion": recipe.max_completion_tokens}
    return checked("prompt_budget", over == 0, measured, most=most, context=context, **sizes)


def check_prompts_per_task(rows: Sequence[PromptRow], limits: PreflightSection) -> Check:
    """Check that each task has enough training prompts to learn from."""
    task, fewest = min(Counter(row.task for row in rows).items(), key=lambda counted: (counted[1], counted[0]))
    least = limits.min_prompts_per_task
    return checked("prompts_per_task", fewest >= least, f"{fewest} of {task}, the fewest", least=least, task=task)


def choose_rows(rows: Sequence[PromptRow], count: int, seed: int) -> list[PromptRow]:
    """Choose some of the prompts, from as many tasks as possible."""
    order = random.Random(seed)
    by_task: dict[str, list[PromptRow]] = {}
    for row in rows:
        by_task.setdefault(row.task, []).append(row)
    tasks = sorted(by_task)
    order.shuffle(tasks)
    for task in tasks:
        order.shuffle(by_task[task])
    chosen: list[PromptRow] = []
    while len(chosen) < min(count, len(rows)):
        task = tasks.pop(0)
        chosen.append(by_task[task].pop())
        if by_task[task]:
            tasks.append(task)
    return chosen
