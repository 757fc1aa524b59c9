"""Commands `tucano phrases`: openers of pushes that a model proposes and a person approves."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

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
    """Ask the first of evaluate.rivals, or else the profile's base here, for openers of a group."""
    config = _configured(profile, overrides)
    openers.known_group(group)
    if output.exists():
        raise InputError(f"{output} exists and may be filled in; give another --output, or move it away")
    with interruptible(UNDONE), stage_progress("phrases") as progress, _model(config) as ask:

        def told(system: str, text: str, number: int) -> str:
            progress(number, openers.MOST_REQUESTS, "requests")
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
    file = _configured(profile, overrides).rewards.phrases
    if file is None:
        raise InputError(
            f"profile {profile!r} names no file of a shop's own phrases; add --set rewards.phrases=FILE.toml"
        )
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


@contextmanager
def _model(config: "Config") -> Iterator[openers.Ask]:
    if (section := next(iter(config.evaluate.rivals), None)) is None:
        yield _base(config)
        return
    # The libraries of requests and of models, which `add` does without.
    from tasks.policy.endpoint import Endpoint, EndpointError, EndpointQuestion  # noqa: PLC0415

    with Endpoint(
        section,
        purpose="proposing",
        section="evaluate.rivals",
        otherwise="leave evaluate.rivals out to ask the profile's base",
        temperature=TEMPERATURE,
        max_tokens=MAX_TOKENS,
    ) as endpoint:

        def ask(system: str, text: str, number: int) -> str:
            answers: dict[str, Reply] = {}
            question = EndpointQuestion("", system, text, config.seed + number)
            if failure := endpoint.ask_all([question], answers.__setitem__):
                raise EndpointError(failure)
            return answers[""].text

        yield ask


def _base(config: "Config") -> openers.Ask:
    from tasks.policy.fork_server import load_less  # noqa: PLC0415

    load_less()
    import transformers  # noqa: PLC0415

    from tasks.policy.generate import as_messages, generate  # noqa: PLC0415
    from tasks.policy.load import loading_arguments  # noqa: PLC0415
    from tasks.policy.published import end_turns_with_eos, given_template, read_tokenizer, read_weights  # noqa: PLC0415

    transformers.utils.logging.disable_progress_bar()
    tokenizer = read_tokenizer(config.policy, given_template(config.policy))
    end_turns_with_eos(tokenizer, config.policy)
    model = read_weights(config.policy, **loading_arguments(four_bit=False)).eval()

    def ask(system: str, text: str, number: int) -> str:
        (answer,) = generate(
            model,
            tokenizer,
            [as_messages(system, text)],
            temperature=TEMPERATURE,
            max_tokens=MAX_TOKENS,
            batch_size=1,
            seed=config.seed + number,
        )
        return answer.text

    return ask
