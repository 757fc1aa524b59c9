"""Commands `tucano phrases`: openers of pushes that a model proposes and a person approves."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from flows.cli.result import show
from flows.cli.tucano import UNDONE, Json, Overrides, Profile, group
from flows.runtime.console import stage_progress
from flows.runtime.signals import interruptible
from schemas.config.profiles import load_config
from schemas.errors import InputError
from tasks.commerce.push.phrases import use_own
from tasks.phrases import openers

if TYPE_CHECKING:
    from schemas.config.config import Config
    from tasks.policy.endpoint import Reply

app = group("phrases")
MAX_TOKENS: Final = 400
TEMPERATURE: Final = 0.8


@app.command()
def propose(
    group: Annotated[str, typer.Argument(help="A group of products of the phrases, such as `cozinha`.")],
    count: Annotated[int, typer.Option(min=1, max=200, help="Openers to propose.")] = 20,
    output: Annotated[Path, typer.Option(help="The sheet to write, a new CSV file.")] = Path("phrases.csv"),
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    as_json: Json = False,
) -> None:
    """Ask the model at the first endpoint of evaluate.rivals for openers of a group."""
    config = _configured(profile, overrides)
    openers.known_group(group)
    if output.exists():
        raise InputError(f"{output} exists and may be filled in; give another --output, or move it away")
    ask = _model(config)
    with interruptible(UNDONE), stage_progress("phrases") as progress:

        def told(system: str, text: str, number: int) -> str:
            progress(number, openers.MAX_REQUESTS, "requests")
            return ask(system, text, number)

        kept, dropped = openers.propose(group, count, told)
        lost = "".join(f", {fault} {number}" for fault, number in dropped.most_common())
        lost = f"{dropped.total()} were dropped{lost.replace(',', ':', 1)}"
        if not kept:
            raise InputError(f"no opener of {group} is proposed, {lost}; name a larger model in evaluate.rivals")
        openers.write_sheet(output, group, kept)
    parts = [
        f"{len(kept)} openers of {group} are proposed, {lost}",
        f"sheet: {output}; write `sim` into `approved` and a name into `by`, then: tucano phrases add {output}",
    ]
    show({"group": group, "proposed": kept, "dropped": dropped, "sheet": str(output)}, parts, as_json=as_json)


@app.command()
def add(
    approved: Annotated[Path, typer.Argument(metavar="SHEET", help="The sheet, with what a person approved.")],
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    as_json: Json = False,
) -> None:
    """Check what a person approved once more, and add it to the shop's own phrases: the file of rewards.phrases."""
    if (file := _configured(profile, overrides).rewards.phrases) is None:
        raise InputError(f"profile {profile!r} names no file of own phrases; add --set rewards.phrases=FILE.toml")
    with interruptible(UNDONE):
        found = openers.approved(approved)
        openers.append(found, file)
    added = f"{len(found)} openers were added to {file}; rewards and keys are others now, so train again to use them"
    show({"added": [each.texto for each in found], "file": str(file)}, [added], as_json=as_json)


def _configured(profile: str, overrides: list[str]) -> "Config":
    """Read a profile, and the shop's phrases where there are some yet."""
    config = load_config(profile, overrides)
    file = config.rewards.phrases
    use_own(file if file is not None and file.exists() else None)
    return config


def _model(config: "Config") -> openers.Ask:
    # The libraries of requests, which `add` does without.
    from tasks.policy.endpoint import Endpoint, EndpointError, EndpointQuestion  # noqa: PLC0415

    if not config.evaluate.rivals:
        raise InputError("no model is named that could propose; add one with OpenAI's API to evaluate.rivals")
    section, otherwise = "evaluate.rivals", "name another in evaluate.rivals"
    decoding: dict[str, Any] = {"temperature": TEMPERATURE, "max_tokens": MAX_TOKENS}
    rival = config.evaluate.rivals[0]
    endpoint = Endpoint(rival, purpose="proposing", section=section, otherwise=otherwise, **decoding)

    def ask(system: str, text: str, number: int) -> str:
        answers: dict[str, Reply] = {}
        question = EndpointQuestion("", system, text, config.seed + number)
        if failure := endpoint.ask_all([question], answers.__setitem__):
            raise EndpointError(failure)
        return answers[""].text

    return ask
