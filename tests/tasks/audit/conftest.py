"""The audit of the shipped sheet, made once for all that is made of it."""

from pathlib import Path
from typing import Final

import pytest

from schemas.config.config import AuditConfig
from tasks.audit.stage import Audit, run, shipped_files

CONFIG: Final = AuditConfig(require_human=False)


@pytest.fixture(scope="session")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("audit")


@pytest.fixture(scope="session")
def result(output: Path) -> Audit:
    return run(shipped_files(), CONFIG, "grounded", output)
