"""A mirror by its address: the same checkpoints come back, and a wrong address is refused in one sentence."""

from pathlib import Path
from typing import Any

import pytest

from schemas.errors import InputError
from tasks.checkpoints.address import open_mirror
from tests.tasks.checkpoints.conftest import BUCKET


def _checkpoint(folder: Path) -> Path:
    folder.mkdir()
    (folder / "weights").write_bytes(b"weights")
    return folder


def _round_trip(address: str, folder: Path) -> None:
    open_mirror(address, "training").publish(_checkpoint(folder / "checkpoint"), 2)
    again = open_mirror(address, "training")
    manifest = again.newest()
    assert manifest is not None
    again.restore(manifest, folder / "restored")
    assert (folder / "restored" / "weights").read_bytes() == b"weights"
    assert open_mirror(address, "another training").newest() is None
    again.clear()
    assert open_mirror(address, "training").newest() is None


def test_a_folder_gives_back_what_it_was_given(tmp_path: Path) -> None:
    _round_trip(str(tmp_path / "mirror"), tmp_path)


@pytest.mark.parametrize("prefix", ["", "/some/prefix", "/some/prefix/"])
def test_a_bucket_gives_back_what_it_was_given(
    prefix: str, gcs_client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("google.cloud.storage.Client", lambda: gcs_client)
    _round_trip(f"gs://{BUCKET}{prefix}", tmp_path)


@pytest.mark.parametrize(
    ("address", "said"), [("s3://bucket/prefix", "neither a folder nor gs://"), ("gs:///prefix", "names no bucket")]
)
def test_another_scheme_and_a_missing_bucket_are_refused(address: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        open_mirror(address, "training")


def test_missing_credentials_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from google.auth.exceptions import DefaultCredentialsError

    def refuse() -> None:
        raise DefaultCredentialsError

    monkeypatch.setattr("google.cloud.storage.Client", refuse)
    with pytest.raises(InputError, match="no Google credentials are found for the mirror gs://bucket/prefix"):
        open_mirror("gs://bucket/prefix", "training")
