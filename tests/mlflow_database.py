"""MLflow's tables, made once for the modules whose tests each have a new database: that takes it over a second."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock

from tasks.lineage.mlflow import client


@pytest.fixture(scope="module")
def mlflow_tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Have a module's new databases begin with a copy of the tables; not where their making is what is tested."""
    folder = tmp_path_factory.getbasetemp()
    # Several processes of tests share the folder above theirs.
    made = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "mlflow-tables.db"
    prepare = client._prepare

    def prepare_with_tables(file: Path, unfinished: Path) -> None:
        prepare(file, unfinished)
        if not file.stat().st_size:
            with FileLock(made.with_suffix(".lock")):
                if not made.exists():
                    _make(made)
            shutil.copyfile(made, file)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(client, "_prepare", prepare_with_tables)
        yield


def _make(file: Path) -> None:
    from mlflow.db import upgrade

    new = file.with_suffix(".new")
    assert upgrade.callback is not None
    upgrade.callback(f"sqlite:///{new}")
    new.rename(file)
