"""Human gate: a run that needs people's scores is suspended, and resumed once they are there."""

import math
import shlex
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from prefect.artifacts import create_markdown_artifact
from prefect.exceptions import Pause
from prefect.flow_runs import suspend_flow_run
from prefect.runtime import deployment

from schemas.errors import Interrupted
from tasks.audit.labelling import RUBRICS_FOLDER

SHEET_ARTIFACT: Final = "audit-sheet"
_SECONDS_A_DAY: Final = 86_400


def wait_for_scores(sheet: Path, unscored: int, days: float) -> None:
    """Wait until people have scored a sheet, without a process that waits.

    A run of a deployment is suspended. Resumed, it runs its flow again from the top, where finished stages are skipped,
    and its caller looks at the sheet again; a further call suspends again. Call it in the body of the deployed flow,
    for Prefect suspends no subflow.
    """
    waiting = f"{unscored} completions of {sheet} wait for a score"
    label = f"tucano audit label {shlex.quote(str(sheet))} --rater PSEUDONYM"
    now = datetime.now(UTC)
    then = "run the same command again: it resumes from here."
    if deployment.id is not None:
        until = f"{now + timedelta(days=days):%Y-%m-%d %H:%M} UTC"
        then = (
            f"press *Resume* on the run's page, before {until}. Later the run has failed: press *Retry*, or run it "
            "again with the same parameters, and it resumes from here."
        )
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
{label}
```

Then {then}
""",
        description="Completions that people must score",
    )
    if deployment.id is None:
        raise Interrupted(
            f"{waiting}; score them in a spreadsheet, or in the browser with `{label}`, and run the same command "
            "again, which resumes from here"
        )
    try:
        # Prefect suspends no run twice by one key.
        suspend_flow_run(timeout=math.ceil(days * _SECONDS_A_DAY), key=f"scores-{now.isoformat()}")
    except Pause as pause:
        # The recorder of this run knows our own messages, but not Prefect's.
        raise pause from Interrupted(f"suspended: {waiting}")
