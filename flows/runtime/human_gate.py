"""Human gate: a run that needs people's scores is suspended, and resumed once they are there."""

import math
import shlex
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, cast

from prefect import get_run_logger
from prefect.artifacts import create_markdown_artifact
from prefect.exceptions import Pause
from prefect.flow_runs import suspend_flow_run
from prefect.input import Keyset, RunInput, keyset_from_base_key, read_flow_run_input
from prefect.runtime import deployment
from pydantic import ConfigDict, Field

from schemas.errors import Interrupted
from tasks.audit.labelling import PSEUDONYM, RUBRICS_FOLDER

SHEET_ARTIFACT: Final = "audit-sheet"

_SECONDS_A_DAY: Final = 86_400


class ScoresDone(RunInput):
    """Input form of the person who reports that the sheet is scored."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    scored_by: str = Field(pattern=f"^{PSEUDONYM.pattern}$")
    """Pseudonym of the person, no name or e-mail, such as `ana-2`: lower-case letters without accents, digits
    and hyphens, up to 31 in all."""


def wait_for_scores(sheet: Path, unscored: int, days: float) -> None:
    """Wait until people have scored a sheet, without a process that waits.

    A run of a deployment is suspended. Resumed, it runs its flow again from the top, where finished stages are skipped,
    and its caller looks at the sheet again; a further call suspends again. Call it in the body of the deployed flow,
    for Prefect suspends no subflow.
    """
    waiting = f"{unscored} completions of {sheet} wait for a score"
    if deployment.id is None:
        _show(sheet, unscored, "Then run the same command again: it resumes from here.")
        raise Interrupted(
            f"{waiting}; score them in a spreadsheet, or in the browser with `{_label(sheet)}`, and run the same "
            "command again, which resumes from here"
        )
    asked = _forms_shown()
    who = _answer_to(asked)
    news = f"{who} said that every completion is scored, but {waiting}" if who else waiting
    get_run_logger().info(news)
    until = datetime.now(UTC) + timedelta(days=days)
    _show(
        sheet,
        unscored,
        f"Then press *Resume* on the run's page and fill in its form, before {until:%Y-%m-%d %H:%M} UTC. Later the run "
        "has failed: press *Retry*, or run it again with the same parameters, and it resumes from here.",
    )
    form = ScoresDone.with_initial_data(
        description=f"{news}; how, is in the artifact `{SHEET_ARTIFACT}`. Is it scored now? If not, the run asks again."
    )
    try:
        suspend_flow_run(wait_for_input=form, timeout=math.ceil(days * _SECONDS_A_DAY), key=_key(asked + 1))
    except Pause as pause:
        # The recorder of this run knows our own messages, but not Prefect's.
        raise pause from Interrupted(f"suspended: {waiting}")


def _forms_shown() -> int:
    """Count the forms that this run has shown.

    A run that timed out here and is retried has forgotten its suspensions, but not its forms, and Prefect refuses a
    second one of the same key.
    """
    number = 0
    while read_flow_run_input(_inputs(number + 1)["schema"]) is not None:
        number += 1
    return number


def _answer_to(number: int) -> str | None:
    """Return who answered a form; None where there was none, or nobody answered."""
    # Not validated again: the server accepts a trailing line break, for which pydantic would fail the run.
    answer = cast("dict[str, Any] | None", read_flow_run_input(_inputs(number)["response"]))
    return None if answer is None else str(answer["scored_by"]).strip()


def _inputs(number: int) -> Keyset:
    return keyset_from_base_key(f"suspended-{_key(number)}")


def _key(number: int) -> str:
    return f"scores-{number}"


def _show(sheet: Path, unscored: int, go_on: str) -> None:
    create_markdown_artifact(
        key=SHEET_ARTIFACT,
        markdown=f"""\
**{unscored} completions wait for people's scores**, 1 to 5. The sheet, on the machine that works on this run:

```
{sheet}
```

What each score means is written in `{RUBRICS_FOLDER}`. There are two ways to score:

- open the sheet in a spreadsheet, fill in `human_score`, `rater` (a pseudonym) and `rater_kind` (`human`), save as CSV;
- in the browser, a key a score.

```
{_label(sheet)}
```

{go_on}
""",
        description="Completions that people must score",
    )


def _label(sheet: Path) -> str:
    return f"tucano audit label {shlex.quote(str(sheet))} --rater PSEUDONYM"
