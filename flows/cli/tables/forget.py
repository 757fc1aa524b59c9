"""Terminal output of `tucano forget`."""

from collections.abc import Collection, Mapping
from typing import Any

from flows.runtime.console import print_table, show
from tasks.lineage.erase.forgetting import Retraced


def print_plan(document: Mapping[str, Any]) -> None:
    """Print what a forgetting would do."""
    rows = document["rows_by_split"]
    in_splits = ", ".join(f"{count} in {split}" for split, count in rows.items())
    show(f"the ID is a {' and a '.join(document['kinds'])}")
    show(
        f"{document['prompts']} prompts of theirs ({in_splits or 'none in the dataset of this profile'}); "
        f"{document['artifacts']} artifacts hold their rows, and {document['learned']} learned from a row or from such "
        "weights"
    )
    if not document["learned"]:
        show("no model learned from them")
    if document["made_again"]:
        show("prompts and dataset are made again without them, and the models from there")
        print_trainings([Retraced.model_validate(each) for each in document["trainings"]], "trained again at most")
    else:
        show("nothing of this profile's chain is made again: what holds them is removed, and what learned from them")
    if document["versions"]:
        show(f"versions that are removed: {', '.join(document['versions'])}")
        if not document["made_again"]:
            show("nothing is made in their place, so that --apply needs --remove-only too")
    say_each("not reached", document["not_reached"])
    say_each("to do", document["to_do"])
    show("nothing was changed; run it with --apply to do this")


def print_begun(document: Mapping[str, Any]) -> None:
    """Print how far a forgetting is that was begun and has not ended."""
    show("a forgetting of this ID was begun, and has not come to its end")
    show(f"done: {', '.join(document['done']) or 'nothing'}; left: {', '.join(document['left'])}")
    say_each("not reached", document["not_reached"])
    if not document["same_configuration"]:
        show("it was begun with another configuration: give the same profile and values of --set again")
    kind = f" --kind {document['kind']}" if document["kind"] else ""
    show(f"nothing was changed now; run it with --apply{kind} to go on from there")


def print_trainings(trainings: Collection[Retraced], again: str) -> None:
    """Print the steps that are trained again, under that name."""
    print_table(
        "Trainings",
        ("training", "steps", "resumes from", again, "why"),
        [
            (each.training, str(each.steps), str(each.from_step), str(each.steps - each.from_step), each.why)
            for each in trainings
        ],
        texts=("why",),
    )


def print_report(document: Mapping[str, Any]) -> None:
    """Print what a report says was done."""
    removed = document["removed"]
    made_again = sum(each["replaced_by"] is not None for each in removed)
    lines = sum(document["log_lines"].values())
    show(
        f"{len(removed)} artifacts removed, {made_again} of them replaced; {lines} log lines and "
        f"{len(document['trainings_removed'])} trainings' checkpoints removed"
    )
    if document["lines_by_text"]:
        show(f"{document['lines_by_text']} of these lines were found by their text alone, which had no id of theirs")
    if document["versions_removed"]:
        show(f"versions removed: {', '.join(document['versions_removed'])}")
    if document["trained_again"]:
        print_trainings([Retraced.model_validate(each) for each in document["trained_again"]], "trained again")
    if document["verdict"]:
        show(f"the gate says {document['verdict']} of the new model")
    say_each("not reached", document["not_reached"])
    say_each("to do", document["to_do"])


def say_each(what: str, sentences: Collection[str]) -> None:
    """Print some sentences after what they are."""
    for sentence in sentences:
        show(f"{what}: {sentence}")
