"""Forgetting of a person: planned as a whole, then done step by step; interrupted, it goes on where it was."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from flows.retrain import retrain
from flows.runtime.console import say
from flows.runtime.session import mlflow_store
from flows.stages.forget import look, old_data, plan, refuse_removal_alone, replace_data, replaced_by, to_do
from flows.stages.forget_logs import clean_logs, require_logs
from flows.stages.removal import made_again, mark_removed, prove_gone, remove
from flows.stages.rewind import ended, rewind
from schemas.config.config import Config
from schemas.errors import InputError
from tasks.audit.forget import remove_given
from tasks.lineage.mlflow.client import in_one_sentence
from tasks.lineage.erase.forget import AskedKind
from tasks.lineage.erase.forgetting import Forgetting, Journal
from tasks.lineage.erase.report import as_report, report_of, write_report
from tasks.lineage.erase.signature import Signer

TRAINED_FROM: Final = {"prompts": "synthesize", "dataset": "curate", "base": "base"}
"""Stages that a training starts from, by the role of their artifacts."""


@dataclass(frozen=True)
class Forgotten:
    """Result of a forgetting."""

    report: Path
    """The signed report."""
    document: dict[str, Any]
    """Its content, unsigned; empty where it was made by an earlier run."""
    done_before: bool = False
    """Whether nothing was left to do."""


def forget(config: Config, identifier: str, kind: AskedKind | None = None, *, remove_only: bool = False) -> Forgotten:
    """Forget a person: in logs, data, weights, checkpoints and copies; then evaluate and gate the new model.

    Args:
        config: The configuration.
        identifier: Whom to forget.
        kind: What the identifier is of; None for all that it is.
        remove_only: Whether registered versions may be removed with nothing in their place.

    Raises:
        InputError: Nothing has the identifier, versions would be removed and none made, or what is under way was begun
            with another configuration.
    """
    root = config.state.root
    signer = Signer(root)
    subject = signer.subject(identifier.strip(), kind)
    journal = Journal(root, subject)
    state = journal.read()
    if state is None:
        journal.require_no_other()
        try:
            found = look(config, identifier, kind)
        except InputError:
            if (earlier := report_of(root, subject)) is not None:
                return Forgotten(earlier, {}, done_before=True)
            raise
        require_logs(config)
        state = plan(config, found, subject)
        if not remove_only:
            refuse_removal_alone(config, state)
        journal.write(state)
    elif state.config_digest != config.digest():
        raise InputError(
            "this person is being forgotten already, with another configuration; give the profile and the values of "
            "--set that it was begun with"
        )
    for name, step in STEPS.items():
        if name not in state.done:
            say(f"forget: {name}")
            with in_one_sentence(mlflow_store(config.state)[0]):
                state = step(config, state, identifier, kind)
            missed = state.missed.get(name, ())
            state = journal.write(state if missed else state.model_copy(update={"done": (*state.done, name)}))
            if missed and name == "logs":
                # What finds their lines is among what the next steps remove.
                raise InputError(
                    f"{'; '.join(missed)}: nothing but logs was changed yet; see to it, and give the same command again"
                )
    document = as_report(state, to_do(config, state.versions_removed), datetime.now(UTC))
    file = write_report(root, document, signer)
    if not any(state.missed.values()):
        journal.end()
    return Forgotten(file, document)


def _logs(config: Config, state: Forgetting, identifier: str, kind: AskedKind | None) -> Forgetting:
    found = look(config, identifier, kind)
    cleaned = clean_logs(config, found.person, found.traces, bytes.fromhex(state.secret))
    lines, unreached = dict(cleaned.lines), cleaned.unreached
    if config.curate.references is not None:
        # Before the dataset is made without them, whose key is of this file.
        try:
            lines["references"] = remove_given(config.curate.references, found.person.prompts)
        except InputError as error:
            unreached = (*unreached, str(error))
    counted = Counter(state.log_lines)
    counted.update(lines)
    return state.model_copy(
        update={
            "log_lines": dict(counted),
            "lines_by_text": state.lines_by_text + cleaned.by_text,
            "lines_in_doubt": {**state.lines_in_doubt, **cleaned.doubtful},
            "missed": {**state.missed, "logs": unreached},
        }
    )


def _models(config: Config, state: Forgetting, identifier: str, kind: AskedKind | None) -> Forgetting:
    """Make the chain without them, up to the trained policies."""
    old = old_data(config, state)
    if not replace_data(config, state, look(config, identifier, kind).person):
        return state
    given = retrain(config, until="audit").stages
    retraced = rewind(config, old, {role: given[name] for role, name in TRAINED_FROM.items()})
    for each in retraced:
        say(f"forget: {each.training} resumes from step {each.from_step} of {each.steps}: {each.why}")
    stages = retrain(config, until="train").stages
    return state.model_copy(
        update={
            "retraced": ended(config, retraced),
            "replaced": replaced_by(config, old, stages),
            "kept": tuple(sorted({result.record.sha256 for result in stages.values()})),
        }
    )


def _mark(config: Config, state: Forgetting, _: str, __: AskedKind | None) -> Forgetting:
    return mark_removed(config, state)


def _remove(config: Config, state: Forgetting, _: str, __: AskedKind | None) -> Forgetting:
    state = remove(config, state)
    return state.model_copy(update={"left": prove_gone(config, state)})


def _decide(config: Config, state: Forgetting, _: str, __: AskedKind | None) -> Forgetting:
    """Evaluate and gate the new models, unless none was made."""
    if not state.replaced:
        return state
    verdict = str(retrain(config, until="promote").decision["verdict"])
    return state.model_copy(update={"verdict": verdict, "removed": made_again(config, state.removed)})


STEPS: Final[dict[str, Callable[[Config, Forgetting, str, AskedKind | None], Forgetting]]] = {
    "logs": _logs,
    "models": _models,
    "mark": _mark,
    "remove": _remove,
    "decide": _decide,
}
"""Steps by name, in order; each may be killed and repeated."""
