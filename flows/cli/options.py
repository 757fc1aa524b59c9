"""Options and messages that several commands of `tucano` share."""

from typing import Annotated

import typer

UNDONE = "interrupted, and nothing was written; run the same command again"

Fresh = Annotated[bool, typer.Option("--fresh", help="Make every stage again, and train from the start.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as one JSON document on stdout.")]
Profile = Annotated[str, typer.Option(help="A profile of infra/profiles, or a path to a TOML file.")]
Overrides = Annotated[list[str], typer.Option("--set", help="Override one value: a.b=c. May be given several times.")]
