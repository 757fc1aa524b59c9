"""Options, messages and output that several commands of `tucano` share."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from schemas.config.config import Config

UNDONE = "interrupted, and nothing was written; run the same command again"
LOOKED = "interrupted, and nothing was changed; run the same command again"

ReportLanguage = Annotated[
    Literal["en", "pt"] | None,
    typer.Option("--language", help="Language of the report: English or Portuguese; report.language if not given."),
]


def _be_quiet(asked: bool) -> None:
    if asked:
        from flows.runtime.console import be_quiet  # noqa: PLC0415 - `tucano --help` needs no more than Typer

        be_quiet()


Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet",
        "-q",
        callback=_be_quiet,
        expose_value=False,
        help="Print only results, warnings and errors, no progress.",
    ),
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Make every stage again, and train from the start.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as one JSON document on stdout.")]
StateFolder = Annotated[
    Path | None,
    typer.Option(
        "--state", metavar="FOLDER", help="The state folder; if not given, the profile's, which is .tucano as a rule."
    ),
]


def _profiles(incomplete: str) -> Iterable[str]:
    """Return the names of profiles for a shell's completion."""
    from schemas.config.profiles import known_profiles  # noqa: PLC0415 - `tucano --help` needs no more than Typer

    return [name for name in known_profiles() if name.startswith(incomplete)]


Profile = Annotated[
    str, typer.Option(help="A profile of infra/profiles, or a path to a TOML file.", autocompletion=_profiles)
]
Overrides = Annotated[
    list[str],
    typer.Option("--set", metavar="A.B=C", help="Override one value, such as train.max_steps=20. May be repeated."),
]


Yes = Annotated[
    bool, typer.Option("--yes", "-y", help="Do not ask before money is spent; without a terminal nobody is asked.")
]


def configured(profile: str, overrides: Sequence[str], state: Path | None, *, makes_prompts: bool = True) -> "Config":
    """Read a profile with its overrides, and the state folder of --state, which is short for --set state.root=FOLDER.

    Raises:
        InputError: As of `load_config`.
    """
    from schemas.config.profiles import load_config  # noqa: PLC0415 - `tucano --help` needs no more than Typer
    from tasks.commerce.push.own_phrases import use_own  # noqa: PLC0415 - as above

    # A JSON string is one in TOML too: a folder may be called 2026.
    root = [] if state is None else [f"state.root={json.dumps(str(state))}"]
    config = load_config(profile, [*overrides, *root], makes_prompts=makes_prompts)
    use_own(config.rewards.phrases)
    return config
