"""`tucano audit references` around its screen, which is played by a function: what is refused, and how it ends.

How a screen runs on a real terminal is tested with `tucano audit label`.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from flows.cli.label import references
from flows.cli.label.references import give_references
from flows.cli.label.references_screen import ReferencesApp
from schemas.errors import InputError, Interrupted
from schemas.given_references import read_given
from schemas.tables.prompts import TEST_FILE
from tests.prompt_tables import write_prompts
from tests.tasks.curate.prompt_rows import prompt_row

Screen = Callable[[ReferencesApp], None]


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    write_prompts([prompt_row("sentiment", "Veio quebrado", {"polarity": None, "score": None})], tmp_path / TEST_FILE)
    return tmp_path


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Callable[[Screen], None]:
    """Play the screen by a function, as if there were a terminal."""
    monkeypatch.setattr(references, "refuse_without_terminal", lambda _: None)
    return lambda screen: monkeypatch.setattr(references, "run_on_terminal", screen)


def test_an_interruption_loses_nothing_and_the_same_command_goes_on(
    dataset: Path, shown: Callable[[Screen], None], capsys: pytest.CaptureFixture[str]
) -> None:
    file = dataset / "references.jsonl"

    def interrupted(app: ReferencesApp) -> None:
        app._session.answer("negative")
        app.interrupted = True

    shown(interrupted)
    with pytest.raises(Interrupted, match="1 of 2 answers are left"):
        give_references(dataset, file, "ana")
    assert [line.values for line in read_given(file)] == [{"polarity": "negative"}]
    shown(lambda app: app._session.answer(None))
    give_references(dataset, file, "ana")
    assert [line.values for line in read_given(file)] == [{"polarity": "negative", "score": None}]
    assert "curate.references=" in capsys.readouterr().err
    # All is answered: there is no screen.
    shown(lambda _: pytest.fail("nothing is left to ask"))
    give_references(dataset, file, "ana")
    assert "nenhuma pergunta sem resposta" in capsys.readouterr().err


def test_what_is_no_dataset_or_folder_is_refused(dataset: Path, shown: Callable[[Screen], None]) -> None:
    shown(lambda _: pytest.fail("nothing can be asked"))
    with pytest.raises(InputError, match="is no dataset"):
        give_references(dataset / "data", dataset / "references.jsonl", "ana")
    with pytest.raises(InputError, match="there is no folder"):
        give_references(dataset, dataset / "lost" / "references.jsonl", "ana")
