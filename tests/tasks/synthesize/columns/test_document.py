"""The written column map is read back as what was recognised, whatever the columns are called."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.config.profiles import load_config
from schemas.store.column_map import read_column_map
from tasks.synthesize.columns.document import TaskPlan, column_map_text, plan, profile_text
from tasks.synthesize.columns.recognize import Recognized, recognize
from tests.tasks.synthesize.columns.shop import FLAT, ORDERS, REVIEWS, looked


def test_unsure_choices_are_comments_that_work_once_unmarked(tmp_path: Path) -> None:
    files = [looked(ORDERS), looked({**REVIEWS, "Nota": ["9", "11", "7"]})]
    text = column_map_text(recognize(files), tmp_path)
    path = tmp_path / "columns.toml"
    path.write_text(text, encoding="utf-8")
    assert [file.table for file in read_column_map(path).tables] == ["orders", "customers"]
    assert '# review_score = "Nota"  # confirm: by its name, but its cells are not stars' in text
    block = text[text.index("# confirm this whole section") :].split("\n\n")[0].splitlines()
    path.write_text("\n".join([text, *(line.removeprefix("# ") for line in block[1:])]), encoding="utf-8")
    assert [file.table for file in read_column_map(path).tables] == ["orders", "customers", "reviews"]


def test_dates_and_decimals_that_no_cell_tells_are_to_be_confirmed(tmp_path: Path) -> None:
    cells = {**FLAT, "Data": ["01/02/2025", "03/04/2025", "05/06/2025"], "Valor": ["1.234", "2.500", "3.000"]}
    text = column_map_text(recognize([looked(cells)]), tmp_path)
    assert '# dates = "day-first"  # confirm: no date tells whether 03/04 is in April' in text
    assert "# decimals = \"comma\"  # confirm: no number of 'Valor' tells" in text
    assert "# confirm:" not in column_map_text(recognize([looked(FLAT)]), tmp_path)


@settings(deadline=None, max_examples=15)
@given(name=st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20))
def test_any_name_of_a_column_is_written_as_a_string(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.getbasetemp()
    (folder / "columns.toml").write_text(
        column_map_text(recognize([looked({**ORDERS, name: ["a", "b", "c"]})]), folder), encoding="utf-8"
    )
    assert read_column_map(folder / "columns.toml").tables[0].columns["order_id"] == "Nº do Pedido"


LOCAL = load_config("local")


def texts(count: int) -> list[str]:
    return [f"Produto {number} chegou antes do prazo, adorei" for number in range(count)]


def reviews(count: int) -> Recognized:
    return recognize([looked({"comentario": texts(count), "nota": [str(1 + number % 5) for number in range(count)]})])


def counts(planned: list[TaskPlan]) -> dict[str, int]:
    return {each.task: each.count for each in planned if each.count}


@pytest.mark.parametrize("rows", [60, 200, 5_000])
def test_the_profile_loads_uses_all_rows_for_an_epoch_and_its_splits_fit(tmp_path: Path, rows: int) -> None:
    planned = plan(reviews(rows), LOCAL)
    path = tmp_path / "shop.toml"
    path.write_text(profile_text(planned, planned, Path('lo"ja/columns.toml'), LOCAL), encoding="utf-8")
    config = load_config(str(path))
    assert config.synthesize.source == "files"
    assert config.synthesize.files == Path('lo"ja/columns.toml')
    assert {task: count for task, count in config.synthesize.counts.items() if count} == counts(planned)
    assert counts(planned) == {"extraction": rows, "sentiment": rows}
    validation, test = config.curate.validation_rows("sentiment"), config.curate.test_rows("sentiment")
    # Of the quarter of the customers that is held out, a third may be copies or leave for other reasons.
    assert validation + test <= 0.25 * 0.67 * rows
    assert config.train.preflight.min_prompts_per_task <= 0.5 * rows
    assert config.warm_start.steps * config.warm_start.batch_size >= 0.75 * 2 * rows
    # Tasks that the shop does not have need no number.
    assert (config.curate.test_rows("churn"), config.validation_prompts) == (0, 2 * validation)


def test_equal_rows_count_once_and_too_few_train_nothing() -> None:
    assert counts(plan(reviews(59), LOCAL)) == {}
    same = recognize([looked({"comentario": texts(1) * 500, "nota": ["5"] * 500})])
    constant = recognize([looked({"comentario": texts(500), "nota": ["5"] * 500})])
    missing = plan(constant, LOCAL, ["sentiment"])[4].missing
    assert missing == "all 500 right answers are the same, from which nothing is learned"
    (missing,) = {each.missing for each in plan(same, LOCAL) if each.task in {"extraction", "sentiment"}}
    assert missing == "only 1 different texts, and 60 are the least"


def test_rows_without_a_right_answer_train_nothing() -> None:
    """Once they were counted, and the retraining ended a minute later, for its warm start had nothing to show."""
    without = plan(recognize([looked({"comentario": texts(500)})]), LOCAL)
    assert counts(without) == {}
    sentiment = next(each for each in without if each.task == "sentiment")
    missing = "no right answers to learn from; map one or more of polarity, score"
    assert (sentiment.rows, sentiment.missing) == (500, missing)
    labels = {"comentario": texts(500), "Rótulo": ["positivo", "negativo"] * 250}
    assert counts(plan(recognize([looked(labels)]), LOCAL)) == {"sentiment": 500}
    # A push is compared with its own product and offer.
    push = {"produto": texts(500), "oferta": ["10% de desconto"] * 500, "segmento": ["novos clientes"] * 500}
    assert counts(plan(recognize([looked(push)]), LOCAL)) == {"push": 500}
