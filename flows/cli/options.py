"""Options, messages and output that several commands of `tucano` share."""

import json
from typing import Annotated, Any

import typer

UNDONE = "interrupted, and nothing was written; run the same command again"
LOOKED = "interrupted, and nothing was changed; run the same command again"

Fresh = Annotated[bool, typer.Option("--fresh", help="Make every stage again, and train from the start.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as one JSON document on stdout.")]
Profile = Annotated[str, typer.Option(help="A profile of infra/profiles, or a path to a TOML file.")]
Overrides = Annotated[list[str], typer.Option("--set", help="Override one value: a.b=c. May be given several times.")]


Yes = Annotated[
    bool, typer.Option("--yes", "-y", help="Do not ask before money is spent; without a terminal nobody is asked.")
]


def emit(document: Any, *, as_json: bool) -> None:
    """Print a command's result as one JSON document on stdout, where --json asks for it."""
    if as_json:
        typer.echo(json.dumps(document, ensure_ascii=False))
