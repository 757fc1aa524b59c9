"""Inputs of the first stages: what decides, which logs a run learns from, and the pseudonyms of own files."""

import json
import os
import time
from functools import partial
from pathlib import Path

import pytest

from flows.runtime.session import logs_to_monitor, own_files
from flows.stages.inputs import SECONDS_KEPT, _curate_inputs, _synthesize_inputs, release_served_prompts, served_prompts
from flows.stages.runner import Session
from schemas.config.config import Config, SynthesizeConfig
from schemas.config.profiles import load_config
from schemas.errors import InputError
from schemas.progress import silent
from schemas.tables.prompts import read_prompts
from tasks.lineage.erase.find import reached
from tasks.lineage.store.artifacts import ArtifactStore
from tasks.lineage.store.inventory import read_inventory
from tasks.synthesize import stage
from tasks.synthesize.own.identities import KEY_FILE, find_known
from tests.tasks.monitor.logged import PUSH_PROMPT, answer, write_log

MAP = """
[[prompts]]
path = "notas.csv"
task = "sentiment"
[prompts.columns]
review = "texto"
customer_id = "cliente"
review_id = "codigo"
[prompts.reference]
score = "nota"
"""
ROWS = "codigo;cliente;texto;nota\nr-1;ana@example.com;Adorei tudo;5\nr-2;{};Veio quebrado;1\n"


def shop_of(folder: Path, second: str = "rui@example.com") -> SynthesizeConfig:
    folder.mkdir(exist_ok=True)
    (folder / "notas.csv").write_text(ROWS.format(second), encoding="utf-8")
    (folder / "mapa.toml").write_text(MAP, encoding="utf-8")
    return SynthesizeConfig(source="files", files=folder / "mapa.toml", counts={"sentiment": 5})


def decides(served: Path | None = None, **values: object) -> str:
    config = SynthesizeConfig.model_validate({"counts": {"push": 3}, **values})
    return json.dumps(_synthesize_inputs(config, served, None), sort_keys=True)


def test_files_and_prompts_of_logs_decide_and_their_folders_do_not(tmp_path: Path) -> None:
    for name, content in (("one", "a"), ("same", "a"), ("other", "b")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "olist_orders_dataset.csv").write_text(content)
    one, same, other = (decides(source="olist", olist_dir=tmp_path / name) for name in ("one", "same", "other"))
    assert one == same != other
    table = tmp_path / "served.parquet"
    table.write_bytes(b"one")
    one, same = (decides(table, logs=tmp_path / folder) for folder in ("logs", "elsewhere"))
    table.write_bytes(b"other")
    assert one == same != decides(table, logs=tmp_path / "logs")


def test_own_files_and_their_map_decide_and_their_folder_does_not(tmp_path: Path) -> None:
    def own(name: str, second: str) -> dict[str, object]:
        config = shop_of(tmp_path / name, second)
        return _synthesize_inputs(config, None, own_files(config, tmp_path / "state"))

    one, same, other = own("one", "a"), own("same", "a"), own("other", "b")
    assert one == same != other
    (tmp_path / "same" / "notas.csv").rename(tmp_path / "same" / "avaliacoes.csv")
    column_map = tmp_path / "same" / "mapa.toml"
    column_map.write_text(MAP.replace("notas.csv", "avaliacoes.csv"), encoding="utf-8")
    config = SynthesizeConfig(source="files", files=column_map, counts={"sentiment": 5})
    assert _synthesize_inputs(config, None, own_files(config, tmp_path)) != one


@pytest.mark.parametrize(
    ("override", "decides"),
    [
        ("seed=7", False),
        ("curate.workers=5", False),
        ("curate.shard_rows=5000", False),
        ("train.max_steps=3", False),
        ("curate.split_seed=7", True),
        ("curate.max_prompt_tokens=900", True),
        ("policy.stand_in=false", True),
    ],
)
def test_a_setting_makes_another_dataset_only_where_it_decides(override: str, decides: bool) -> None:
    assert (_curate_inputs(load_config("local", [override])) != _curate_inputs(load_config("local"))) == decides


def test_a_tokenizer_and_references_of_people_count_by_their_content(tmp_path: Path) -> None:
    given = tmp_path / "references.jsonl"
    given.write_text("1")
    (tmp_path / "tokenizer.json").write_text("1")
    config = load_config("local", ["policy.stand_in=false", f"policy.name={tmp_path}", f"curate.references={given}"])
    before = _curate_inputs(config)
    (tmp_path / "model.safetensors").write_text("weights")
    assert _curate_inputs(config) == before
    (tmp_path / "vocab.json").write_text("2")
    other = _curate_inputs(config)
    assert other != before
    given.write_text("2")
    assert _curate_inputs(config) != other


def config_of(root: Path, *settings: str) -> Config:
    return load_config("local", [f"state.root={root / 'state'}", f"synthesize.logs={root / 'logs'}", *settings])


def log(root: Path, number: int) -> None:
    (root / "logs").mkdir(exist_ok=True)
    known = {"product": "vaso de cerâmica", "offer": "20% de desconto"}
    asked = [answer(prompt=f"{PUSH_PROMPT} {each}", reference=known) for each in range(number)]
    write_log(root / "logs" / "2026-03-10.jsonl", asked)


def found(config: Config, *, fresh: bool = False) -> int:
    table = served_prompts(Session(config, fresh="again" if fresh else None))
    assert table is not None
    return len(read_prompts(table))


def test_a_resumed_run_learns_from_what_it_began_with(tmp_path: Path) -> None:
    config = config_of(tmp_path)
    log(tmp_path, 2)
    assert found(config) == 2
    log(tmp_path, 3)
    assert found(config) == 2
    release_served_prompts(config)
    assert found(config) == 3


def test_runs_of_another_configuration_and_fresh_ones_have_prompts_of_their_own(tmp_path: Path) -> None:
    log(tmp_path, 2)
    assert found(config_of(tmp_path)) == 2
    log(tmp_path, 3)
    other = config_of(tmp_path, "synthesize.counts.push=100")
    assert found(other) == found(config_of(tmp_path), fresh=True) == 3
    release_served_prompts(other)
    assert found(config_of(tmp_path)) == 2


def test_it_is_kept_for_a_week_after_its_last_use_and_for_its_owner_alone(tmp_path: Path) -> None:
    config = config_of(tmp_path)
    log(tmp_path, 2)
    table = served_prompts(Session(config))
    assert table is not None
    assert table.parent.stat().st_mode & 0o077 == 0
    log(tmp_path, 3)
    for seconds, prompts in ((6 * 24 * 3600, 2), (6 * 24 * 3600, 2), (SECONDS_KEPT + 60, 3)):
        before = time.time() - seconds
        os.utime(table, (before, before))
        assert found(config) == prompts
        assert table.stat().st_mtime > before


@pytest.mark.parametrize("identity", ["rui@example.com", "111.444.777-35", "+55 11 91234-5678"])
def test_a_person_is_found_whom_no_artifact_names(tmp_path: Path, identity: str) -> None:
    state, config = tmp_path / "state", shop_of(tmp_path / "shop", identity)
    store = ArtifactStore(state / "artifacts")
    with store.draft() as draft:
        stage.run(config, 1, draft, silent, own=own_files(config, state))
        written = [path.read_bytes() for path in draft.rglob("*") if path.is_file()]
        store.commit(draft, kind="prompts", stage="synthesize", code_version="c", config_digest="d", inputs={})
    assert not any(b"example.com" in content or identity.encode() in content for content in written)
    for asked in (identity, "r-2"):
        found = find_known(state, asked, partial(reached, read_inventory(state / "artifacts")))
        assert [place.rows for place in found.places] == [1]


def test_plain_ids_need_no_key(tmp_path: Path) -> None:
    config = shop_of(tmp_path / "shop")
    (tmp_path / "shop" / "notas.csv").write_text(ROWS.format("17").replace("ana@example.com", "16"), encoding="utf-8")
    (tmp_path / "out").mkdir()
    stage.run(config, 1, tmp_path / "out", silent, own=own_files(config, tmp_path / "state"))
    assert not (tmp_path / "state" / KEY_FILE).exists()


def test_the_gateways_logs_are_read_where_no_others_are_named(tmp_path: Path) -> None:
    state = f"state.root={tmp_path}"
    bare, named = load_config("local", [state]), load_config("local", [state, "monitor.logs=others"])
    with pytest.raises(
        InputError, match=f"no logs are given, and `tucano serve` has written none into {tmp_path}/logs"
    ):
        logs_to_monitor(bare, None)
    (tmp_path / "logs").mkdir()
    assert logs_to_monitor(bare, None) == tmp_path / "logs"
    assert logs_to_monitor(named, None) == Path("others")
    assert logs_to_monitor(named, Path("mine")) == Path("mine")
