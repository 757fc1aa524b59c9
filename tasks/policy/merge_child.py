"""The weights that a promoted model is served from: the child process of the promote stage."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict

from schemas.disk import write_whole
from schemas.prompts import VALIDATION_FILE, read_prompts
from tasks.policy.child import Channel, serve
from tasks.policy.merge import MERGED_FOLDER, check_prompts, write_merged

REMEDY = "the champion stays; train the policy anew, or promote another version"


class MergeRequest(BaseModel):
    """What the promote stage asks of its child."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    base: Path
    """Folder of the base model."""
    adapter: Path
    """Folder of the policy's adapter for all tasks."""
    dataset: Path
    """Folder of the dataset artifact; only its validation split is read."""
    output: Path
    """The promotion's folder, which gets the merged model."""
    check: Path
    """File for how the merged model compares with base and adapter: a `MergeCheck`."""


def main(request_file: Path, channel: Channel) -> None:
    """Write the merged model, and how it compares."""
    request = MergeRequest.model_validate_json(request_file.read_text(encoding="utf-8"))
    channel.progress(0, 1, "loading torch")

    import transformers

    transformers.utils.logging.disable_progress_bar()
    prompts = check_prompts(read_prompts(request.dataset / VALIDATION_FILE))
    check = write_merged(
        request.base,
        request.adapter,
        request.output / MERGED_FOLDER,
        prompts,
        remedy=REMEDY,
        progress=channel.progress,
    )
    write_whole(request.check, check.model_dump_json(indent=1))


if __name__ == "__main__":
    serve(main)
