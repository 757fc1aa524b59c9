"""Notice that the keys of a state folder are those of an earlier version of this program."""

from typing import Final

from flows.runtime.console import warn
from flows.runtime.stores import open_store
from schemas.artifact import ArtifactKind
from schemas.config.config import Config

KEYS_FILE: Final = "keys.txt"
"""Of the state: what its artifacts' keys are made of, for a version that makes them of something else."""
KEYS: Final = "code without comments, by module\n"
MADE_AGAIN: Final[tuple[ArtifactKind, ...]] = (
    "prompts",
    "dataset",
    "audit",
    "base",
    "policy",
    "merged",
    "answers",
    "evaluation",
    "promotion",
    "monitoring",
)


def warn_of_changed_keys(config: Config) -> None:
    """Say once of a state folder from before that what it holds is kept, and what the next runs make again."""
    file = config.state.root / KEYS_FILE
    if file.exists():
        return
    store = open_store(config)
    old = [kind for kind in MADE_AGAIN if any(_is_of_files(record.sources) for record in store.records(kind)[:1])]
    if old:
        warn(
            f"keys have changed: what is in {config.state.root} was made under those of an earlier version, so that "
            f"{', '.join(old)} are made again, once, where a run needs them; every artifact, and what people scored, "
            "is kept"
        )
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(KEYS, encoding="utf-8")


def _is_of_files(sources: dict[str, str]) -> bool:
    """Return whether sources are named by files of the repository, as they were, and not by modules."""
    return any(name.endswith(".py") for name in sources)
