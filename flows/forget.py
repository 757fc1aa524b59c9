"""Forgetting of a person: planned as a whole, then done step by step; interrupted, it resumes where it was."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from flows.retrain import retrain
from flows.runtime.console import say
from flows.runtime.session import mlflow_store
from flows.stages.forget import (
    look,
    made_again,
    made_anew,
    mark_removed,
    plan,
    refuse_removal_alone,
    remove,
    replace_prompts,
    to_do,
)
from flows.stages.forget_places import clean_logs, require_logs
from schemas.config.config import Config
from schemas.errors import InputError
from tasks.lineage.erase.find import AskedKind
from tasks.lineage.erase.plan import Forgetting, Journal
from tasks.lineage.erase.report import REPORTS_FOLDER, as_report, signed, write_report
from tasks.lineage.mlflow.client import in_one_sentence


@dataclass(frozen=True)
class Forgotten:
    """Result of a forgetting."""

    report: Path
    """The signed report."""
    document: dict[str, Any]
    """Its content, unsigned."""


def forget(config: Config, identifier: str, kind: AskedKind | None = None, *, remove_only: bool = False) -> Forgotten:
    """Forget a person: in logs, data, weights, checkpoints and copies; then evaluate and gate the new model."""
    root = config.state.root
    # A key that cannot be used is refused before anything is done.
    signed(root, {})
    journal = Journal(root, identifier.strip(), kind)
    if (state := journal.begun) is None:
        journal.require_no_other()
        try:
            found = look(config, identifier, kind)
        except InputError as error:
            if not (root / REPORTS_FOLDER).is_dir():
                raise
            raise InputError(f"{error}; {root / REPORTS_FOLDER} has the reports of earlier forgettings") from None
        require_logs(config)
        state = plan(config, found, identifier, kind)
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
                state = step(config, state, identifier)
            missed = state.missed.get(name, ())
            state = journal.write(state if missed else state.model_copy(update={"done": (*state.done, name)}))
            if missed and name == "logs":
                # What finds their lines is among what the next steps remove.
                raise InputError(
                    f"{'; '.join(missed)}: nothing but logs was changed yet; see to it, and give the same command again"
                )
    document = as_report(state, to_do(config, state.versions_removed), datetime.now(UTC))
    file = write_report(root, document)
    if not any(state.missed.values()):
        journal.end()
    return Forgotten(file, document)


def _models(config: Config, state: Forgetting, identifier: str) -> Forgetting:
    """Make the prompts without them, and with them the chain, up to policies that are trained from the start."""
    if not state.data:
        return state
    replace_prompts(config, state, look(config, identifier, state.kind).person)
    return made_anew(config, state, retrain(config, until="train").stages)


def _decide(config: Config, state: Forgetting, _: str) -> Forgetting:
    """Evaluate and gate the new models, unless none was made."""
    if not state.replaced:
        return state
    verdict = str(retrain(config, until="promote").decision["verdict"])
    return state.model_copy(update={"verdict": verdict, "removed": made_again(config, state.removed)})


STEPS: Final[dict[str, Callable[[Config, Forgetting, str], Forgetting]]] = {
    "logs": lambda config, state, identifier: clean_logs(config, state, look(config, identifier, state.kind)),
    "models": _models,
    "mark": lambda config, state, _: mark_removed(config, state),
    "remove": lambda config, state, _: remove(config, state),
    "decide": _decide,
}
"""Steps by name, in order; each may be killed and repeated."""
