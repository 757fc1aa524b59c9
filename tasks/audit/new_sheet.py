"""New audit sheet: rollouts are scored by the rewards, and sampled by stratum for people to score."""

from pathlib import Path

from schemas.errors import InputError
from schemas.progress import Progress
from schemas.tasks import SpecName
from tasks.audit.reward import reward_of
from tasks.audit.sampling import Sample, sample
from tasks.audit.sheet import write_rows
from tasks.audit.shown import with_shown_text


def make_sheet(
    rollouts: Path, spec: SpecName, store: Path, per_task: int, seed: int, sheet: Path, progress: Progress
) -> Sample:
    """Write the sheet of some rollouts.

    Raises:
        InputError: Rollouts or store cannot be read, nothing can be sampled, or there is a sheet already.
    """
    from schemas.tables.rollout_tables import read_rollouts

    if sheet.exists():
        raise InputError(f"{sheet} exists and may hold scores; give the name of a new file")
    read = read_rollouts(rollouts)
    reward = reward_of({rollout.task for rollout in read}, store, spec)
    scored = []
    for done, rollout in enumerate(read, 1):
        scored.append(reward(with_shown_text(rollout)))
        progress(done, len(read), "rollouts scored")
    drawn = sample(scored, per_task, seed)
    if not drawn.rows:
        raise InputError(f"rollouts {rollouts}: no completion is short enough for a sheet; give others")
    try:
        write_rows(sheet, drawn.rows)
    except OSError as error:
        raise InputError(
            f"sheet {sheet} cannot be written ({error.strerror}); give a file that you may write"
        ) from None
    return drawn
