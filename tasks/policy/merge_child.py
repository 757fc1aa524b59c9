"""Merged weights for testing and serving a policy: the child process of the merge stage."""

from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict

from schemas.disk import write_whole
from schemas.tables.prompts import VALIDATION_FILE, read_prompts
from tasks.policy.child import Channel, as_child
from tasks.policy.merge import MergeCheck, check_prompts, write_merged

CHECK_FILE: Final = "merge.json"
"""Artifact file beside the model's own: the comparison with base and adapter."""
REMEDY: Final = "nothing is promoted; train the policy again"


class MergeRequest(BaseModel):
    """Request of the merge stage to its child process."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    base: Path
    """Folder of the base model."""
    adapter: Path
    """Folder of the policy's adapter for all tasks."""
    dataset: Path
    """Folder of the dataset artifact; only its validation split is read."""
    output: Path
    """Folder for the merged model and its comparison."""


def main(request_file: Path, channel: Channel) -> None:
    """Write the merged model and its comparison."""
    request = MergeRequest.model_validate_json(request_file.read_text(encoding="utf-8"))
    channel.progress(0, 1, "loading torch")

    import transformers

    transformers.utils.logging.disable_progress_bar()
    prompts = check_prompts(read_prompts(request.dataset / VALIDATION_FILE))
    check = write_merged(
        request.base, request.adapter, request.output, prompts, remedy=REMEDY, progress=channel.progress
    )
    write_whole(request.output / CHECK_FILE, check.model_dump_json(indent=1))


def read_check(folder: Path) -> MergeCheck:
    """Read the comparison of a merged artifact with base and adapter."""
    return MergeCheck.model_validate_json((folder / CHECK_FILE).read_text(encoding="utf-8"))


if __name__ == "__main__":
    with as_child() as (request_file, channel):
        main(request_file, channel)
