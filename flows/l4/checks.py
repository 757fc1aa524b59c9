"""Checks of `tucano l4` before anything is started: the mirror, the clock, the revision and the code."""

import shutil
import subprocess
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from schemas.config.config import Config
from schemas.errors import InputError
from schemas.source import REPOSITORY
from tasks.checkpoints.address import open_store, prove_usable
from tasks.checkpoints.object_store import store_time

SECONDS_APART: Final = 300.0
"""Most seconds between this clock and the store's: Google refuses what is signed by one that is further off."""
CODE: Final = ("constraints", "data", "flows", "schemas", "tasks")
"""Folders of what a job runs."""
IN_A_WHEEL: Final = "tucano2_commerce"


def check_store(config: Config, *, bucket: bool) -> None:
    """Refuse a mirror or a shared store that the job cannot use, and a clock that is wrong."""
    for name in ("mirror", "artifacts"):
        address = getattr(config.state, name)
        if bucket and not (address or "").startswith("gs://"):
            raise InputError(
                f"state.{name} is {address or 'not set'}, which a rented machine does not reach; name a bucket with "
                "--bucket gs://BUCKET/PREFIX"
            )
        prove_usable(address)
    if bucket:
        check_clock(str(config.state.artifacts))


def check_clock(address: str) -> None:
    """Refuse a clock that is far from a store's."""
    store, prefix = open_store(address)
    before, theirs, after = datetime.now(UTC), store_time(store, prefix), datetime.now(UTC)
    off = max((theirs - after).total_seconds(), (before - theirs).total_seconds())
    if off > SECONDS_APART:
        raise InputError(
            f"this machine's clock is {off / 60:.0f} minutes from that of {address}; set it, as with "
            "`timedatectl set-ntp true`"
        )


def check_revision(config: Config) -> None:
    """Refuse a base of the hub without a commit: a base that moves on makes another audit and other artifacts."""
    policy = config.policy
    if policy.stand_in or Path(policy.name).is_dir() or policy.revision is not None:
        return
    raise InputError(
        f"policy.revision is not set, so that {policy.name} may change under a job that is resumed; set it to a commit "
        f"of https://huggingface.co/{policy.name}/commits/main"
    )


def commit_of_code() -> str:
    """Return the commit of this code; InputError where it is no clone, or was changed since."""
    git = shutil.which("git")
    if git is None or not (REPOSITORY / ".git").exists():
        raise InputError(
            f"the code in {REPOSITORY} is no clone of the repository, so that no image can be compared with it; use a "
            "clone and git, or --on skypilot with --wheel"
        )
    changed = _git(git, "status", "--porcelain", "--", *CODE).split("\n")
    if changed != [""]:
        raise InputError(
            f"the code differs from its commit ({len(changed)} files, first {changed[0].split()[-1]}), so that no "
            "image has it; commit it and build the image again"
        )
    return _git(git, "rev-parse", "HEAD")


def require_tag(image: str, commit: str) -> None:
    """Refuse an image whose tag is not the commit, or its first seven or more digits."""
    tag = image.rpartition("/")[2].partition(":")[2]
    if len(tag) < 7 or not commit.startswith(tag):
        raise InputError(
            f"the image {image} is of {tag or 'no tag'}, and this code of commit {commit[:12]}; build the image of "
            "this commit, or check out the other one"
        )


def check_wheel(wheel: Path) -> None:
    """Refuse a wheel of other code than this."""
    here = {str(path.relative_to(REPOSITORY)) for folder in CODE for path in (REPOSITORY / folder).rglob("*.py")}
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = (name.removeprefix(f"{IN_A_WHEEL}/") for name in archive.namelist())
            there = {name for name in names if name.partition("/")[0] in CODE and not name.endswith("/")}
            other = sorted(name for name in there | here if not _is_same(archive, name))
    except (OSError, zipfile.BadZipFile) as error:
        raise InputError(f"the wheel {wheel} cannot be read ({error}); build it with `pip wheel --no-deps .`") from None
    if other:
        raise InputError(
            f"the wheel {wheel} is of other code than this ({len(other)} files, first {other[0]}); build it again with "
            "`pip wheel --no-deps .`"
        )


def _is_same(archive: zipfile.ZipFile, name: str) -> bool:
    try:
        return archive.read(f"{IN_A_WHEEL}/{name}") == (REPOSITORY / name).read_bytes()
    except (KeyError, OSError):
        return False


def _git(git: str, *arguments: str) -> str:
    ended = subprocess.run([git, *arguments], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise InputError(f"git {arguments[0]} fails in {REPOSITORY} ({ended.stderr.strip()}); mend the clone")
    return ended.stdout.strip()
