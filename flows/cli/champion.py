"""Commands `tucano ask`, `export`, `promote` and `monitor`: what is done with the champion."""

import json
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from flows.cli.result import Table, cell, new_folder, plural, show
from flows.cli.tucano import LOOKED, Json, Overrides, Profile, StateFolder, configured
from flows.runtime.console import say, stage_progress
from flows.runtime.console import show as notice
from flows.runtime.session import BYTES_NEEDED, existing_store, has_server, logs_to_monitor, session
from flows.runtime.signals import interruptible
from schemas.disk import write_whole
from schemas.errors import GateRefused, InputError
from schemas.shown_text import as_shown
from schemas.tables.production_logs import log_files, require_rows
from schemas.tasks import TaskName
from tasks.report.number_format import decimal
from tasks.report.wording import spoken, worded
from tasks.serve.by_hand.files import read_questions, write_answers
from tasks.serve.questions import fields_of, question_of

if TYPE_CHECKING:
    from flows.stages.monitor import Monitored
    from tasks.serve.answerer import TaskAnswer

MOST_SHOWN: Final = 3


def ask(
    task: Annotated[TaskName, typer.Argument(help="The task.")],
    values: Annotated[list[str] | None, typer.Argument(metavar="[NAME=VALUE]...", help="The task's inputs.")] = None,
    file: Annotated[Path | None, typer.Option(help="CSV or JSON Lines of inputs, or of prompts.")] = None,
    version: Annotated[str | None, typer.Option(metavar="N", help="A version's number; else the champion.")] = None,
    base: Annotated[bool, typer.Option("--base", help="Ask the base that the version was trained on.")] = False,
    answer_all: Annotated[bool, typer.Option("--any", help="Ask for a task even if it was not learned.")] = False,
    out: Annotated[Path | None, typer.Option(help="FILE.csv or JSON Lines of the answers; replaced if there.")] = None,
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    state: StateFolder = None,
    as_json: Json = False,
) -> None:
    """Ask the champion, on this machine: one prompt, a file of them, or what a pipe gives."""
    if values and file is not None:
        raise InputError("NAME=VALUE and --file are given, and one says what is asked; leave the other out")
    config = configured(profile, overrides, state)
    with interruptible(LOOKED):
        rows = [question_of(task, _values(task, values or []))] if file is None else read_questions(file, task)
        # Torch, transformers and MLflow take seconds to import, and a mistake above none.
        from tasks.policy.fork_server import load_less  # noqa: PLC0415

        load_less()
        from flows.stages.registered_version import find_served_model  # noqa: PLC0415

        served, _ = find_served_model(config, version, base=base, answer_all=answer_all)
        with stage_progress("ask") as progress:
            progress(0, len(rows), "loading the model")
            from tasks.serve.answerer import Answerer  # noqa: PLC0415

            answers = Answerer(served, task).answer(rows, progress)
    if out is not None:
        write_answers(out, answers, file)
        notice(f"answers: {out}")
    documents = [answer.model_dump() for answer in answers]
    by = f"the bag of words of {served.name}" if task in served.bags else served.name
    document = {"model": config.promote.model_name, "answered_by": by, "answers": documents}
    if as_json:
        show(document, [], as_json=True)
        return
    with spoken(config.language):
        for answer in answers[:MOST_SHOWN]:
            _show_answer(answer)
    rewards = [answer.reward for answer in answers if answer.reward is not None]
    worth = f", mean reward {fmean(rewards):.3f}" if rewards else ""
    notice(
        f"{document['model']}, {by}: {plural(len(answers), 'answer')}, "
        f"{sum(answer.text is not None for answer in answers)} shown, {sum(answer.checked for answer in answers)} "
        f"checked{worth}, {sum(answer.tokens for answer in answers)} tokens in "
        f"{sum({answer.seconds for answer in answers}):.2f} s"
    )


def _show_answer(answer: "TaskAnswer") -> None:
    """Print what holds of an answer on stdout; and on stderr its prompt, what does not hold, and why."""
    notice(f"{as_shown(answer.prompt)}\n")
    if answer.text is not None:
        is_object = isinstance(answer.parsed, dict) and answer.text.startswith("{")
        text = json.dumps(json.loads(answer.text), ensure_ascii=False, indent=1) if is_object else answer.text
        typer.echo(as_shown(text))
    if answer.reason is not None:
        notice(f"{worded('nothing to show' if answer.text is None else 'not all is checked')}: {answer.reason}")
    if answer.reward is not None and answer.components is not None:
        notice(f"{worded('reward')} {decimal(answer.reward)}: {cell(answer.components)}")


def _values(task: TaskName, given: Sequence[str]) -> dict[str, str]:
    """Return the task's inputs by name: as given, or its only one from a pipe."""
    fields = fields_of(task)
    needed = [name for name, is_needed in fields.items() if is_needed]
    values: dict[str, str] = {}
    for text in given:
        name, separator, value = text.partition("=")
        if separator and name in fields:
            values[name] = value
        elif len(needed) == 1 and len(given) == 1 and not (separator and name.isidentifier()):
            values[needed[0]] = text
        else:
            raise InputError(f"{text[:40]!r} is none of the inputs of {task}: {', '.join(fields)}; write NAME=VALUE")
    if given:
        return values
    if len(needed) > 1 or sys.stdin.isatty():
        raise InputError(f"{task} has the inputs {', '.join(fields)}; give them as NAME=VALUE, or a --file")
    return {needed[0]: sys.stdin.read(1_000_000)}


def export(
    version: Annotated[str, typer.Argument(help="A version by its number, or `champion`.")],
    out: Annotated[Path, typer.Option(help="The folder for it, which is new or empty.")],
    kind: Annotated[Literal["safetensors", "gguf", "peft"], typer.Option("--format", help="Kind of its files.")],
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    state: StateFolder = None,
    as_json: Json = False,
) -> None:
    """Export a version for other programs, proven by reading it back; exit code 3 where it differs."""
    config = configured(profile, overrides, state)
    with new_folder(out) as draft, stage_progress("export") as progress:
        # Torch, transformers and MLflow take seconds to import, and a mistake above none.
        from flows.stages.registered_version import export_version  # noqa: PLC0415

        number = None if version == config.promote.alias else version
        document = export_version(config, number, kind, draft, out, progress)
        write_whole(draft / "proof.json", json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    show({**document, "folder": str(out)}, exported_parts(document, out), as_json=as_json)


def exported_parts(document: Mapping[str, Any], folder: Path) -> Iterator[str | Table]:
    """Yield each file's proof, and how it is used."""
    files = document["files"]
    yield Table(
        f"Version {document['version']} of {document['model']}, read back by {files[0]['read_by']}",
        [{**file, "file": "folder" if file["name"] == "." else file["name"]} for file in files],
        "file bytes equal prompts nats_apart=difference reward_lost 95_%=lost_low..lost_high",
    )
    yield f"exported: {folder}"
    last = files[-1]
    if document["format"] == "safetensors":
        use = f"vllm serve {folder}"
    elif document["format"] == "peft":
        use = f"AutoPeftModelForCausalLM.from_pretrained({str(folder)!r}) of PEFT"
    elif last["modelfile"] is None:
        yield "no Modelfile: Ollama would write the prompts otherwise, or read them as other tokens"
        use = f"llama-server --jinja -m {folder / last['name']}"
    else:
        use = f"ollama create {document['model']} -f {folder / last['modelfile']}"
    yield f"use it: {use}"


def promote(
    version: Annotated[str | None, typer.Argument(metavar="[VERSION]", help="Its number; else the newest.")] = None,
    force: Annotated[str | None, typer.Option(metavar="REASON", help="Promote it though the gate holds it.")] = None,
    baseline: Annotated[TaskName | None, typer.Option(help="Let its bag of words answer this task.")] = None,
    rollback: Annotated[bool, typer.Option("--rollback", help="Give the alias back to the version before.")] = False,
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    state: StateFolder = None,
    as_json: Json = False,
) -> None:
    """Promote a registered version; exit code 3 where the gate holds it and nothing is forced."""
    from flows.stages.registered_version import promote_baseline, promote_registered, roll_back  # noqa: PLC0415 - MLflow
    from tasks.lineage.mlflow.registry import checked_reason  # noqa: PLC0415

    if rollback and (version or force is not None or baseline):
        given = f"VERSION {version}" if version else "--force" if force is not None else "--baseline"
        raise InputError(f"--rollback goes to the version before and takes no {given}; leave one of them out")
    reason = None if force is None else checked_reason(force)
    config = configured(profile, overrides, state)
    existing_store(config, "nothing is registered there")
    model, alias = config.promote.model_name, config.promote.alias
    parts: list[str] = []
    if rollback:
        done = roll_back(config)
        parts.append(f"version {done.left.version} of {model} is left: `{alias}` is version {done.back.version} again")
        document: dict[str, Any] = {"version": done.back.version, "rolled_back": done.left.version}
    elif baseline is not None:
        document = promote_baseline(config, version, baseline, reason)
    else:
        document = promote_registered(config, version, reason)
    show({"model": model, "alias": alias, **document}, parts, as_json=as_json)
    if not rollback and not document["promoted"]:
        what = "" if baseline is None else "the bag of words of "
        raise GateRefused(
            f"the gate holds {what}version {document['version']} of {model}: {'; '.join(document['reasons'])}; "
            "its report names what would help, and --force REASON promotes it all the same"
        )


def monitor(
    logs: Annotated[Path | None, typer.Argument(help="Logs, or a folder of them; else what `serve` wrote.")] = None,
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    state: StateFolder = None,
    report: Annotated[Path | None, typer.Option(help="Folder of the report, in place of an earlier one.")] = None,
    as_json: Json = False,
) -> None:
    """Score production logs, and compare them with the champion's evaluation; exit code 3 for any alarm."""
    config = configured(profile, overrides, state)
    given = logs_to_monitor(config, logs)
    files = log_files(given)
    require_rows(files)
    say(f"monitoring {plural(len(files.files), 'file')} of logs, state in {config.state.root}")
    # What is kept of logs is compressed, and so smaller than they are.
    with session(config, bytes_needed=BYTES_NEEDED + files.bytes):
        # Prefect reads the session's settings when it is imported.
        from flows.monitor import monitor as flow  # noqa: PLC0415

        # It schedules nothing, so that it starts no server of its own.
        monitored = (flow if has_server() else flow.fn)(config, given)
    # Its statistics take seconds to import, which the flow has done by now.
    from tasks.monitor.report import REPORT_PAGE  # noqa: PLC0415

    stage, folder = monitored.stage, report or monitored.stage.path
    if report is not None:
        from tasks.monitor.stage import ANSWERS_FILE  # noqa: PLC0415 - as above

        # The artifact's own files are read-only.
        without_answers, copy = shutil.ignore_patterns(ANSWERS_FILE), shutil.copyfile
        with new_folder(report, frozenset(part.name for part in stage.path.iterdir())) as draft:
            shutil.copytree(stage.path, draft, ignore=without_answers, copy_function=copy, dirs_exist_ok=True)
    made = {"sha256": stage.record.sha256, "path": str(stage.path), "reused": stage.reused}
    document = {**monitored.found, **made, "silence": monitored.silence and monitored.silence.reason}
    with spoken(config.language, config.workers.reais_per_dollar):
        parts = [*monitored_parts(monitored), f"{worded('report')}: {folder / REPORT_PAGE}"]
    show(document, parts, as_json=as_json)
    if monitored.reasons:
        raise typer.Exit(3)


def monitored_parts(monitored: "Monitored") -> Iterator[str | Table]:
    """Yield each task's last day, what was left out, and the alarms."""
    from tasks.monitor.report import finding_sentences, promise_sentence  # noqa: PLC0415 - as above
    from tasks.monitor.stage import last_days  # noqa: PLC0415

    found = monitored.found
    champion = found["champion"]
    series = {each["name"]: each for each in found["drift"]["series"] if each["measure"] in ("reward", "form")}
    rows = [
        {**day, "test": series[day["task"]]["promised"][-1] if day["task"] in series else None}
        for day in last_days(monitored.stage.path)
    ]
    yield Table(
        worded("Version {version} of {model}, each task's last day", **champion),
        rows,
        "task day answers mean 95_%=low..high test valid=valid_share answered=answered_share median_ms=latency_p50",
    )
    yield from (f"{worded('note')}: {note}" for note in found["notes"])
    yield from finding_sentences(found)
    no_alarm = worded("no alarm: {promise}", promise=promise_sentence(found["drift"]))
    yield worded("alarms:") if monitored.reasons else no_alarm
    yield from (f"- {reason}" for reason in monitored.reasons)
