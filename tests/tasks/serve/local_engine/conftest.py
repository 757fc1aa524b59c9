"""A real, tiny model, in this process and in one of its own."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schemas.progress import silent
from tasks.policy.load import load_policy, load_tokenizer
from tasks.serve.local_engine.loaded import LoadedModels, load_models
from tasks.serve.local_engine.request import LocalEngineRequest
from tests.small_base import save_base
from tests.tasks.serve.local_engine.running import RunningEngine, running

ROWS = 3
MAX_TOKENS = 1_200


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_base(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="session")
def policy(base: Path) -> tuple[Any, Any]:
    return load_policy(base, None, four_bit=False), load_tokenizer(base)


@pytest.fixture
def loaded(base: Path) -> LoadedModels:
    return load_models(request_of(base), silent)


@pytest.fixture(scope="session")
def engine(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEngine]:
    with running(base, tmp_path_factory.mktemp("engine"), rows=ROWS, max_tokens=MAX_TOKENS) as engine:
        yield engine
    assert engine.failures == []
    assert not engine.request.socket.exists()


def request_of(base: Path, **changes: Any) -> LocalEngineRequest:
    of_tests = {"adapters": {}, "socket": base / "engine.sock", "rows": ROWS, "max_tokens": MAX_TOKENS, "seed": 5}
    return LocalEngineRequest(weights=base, **(of_tests | changes))
