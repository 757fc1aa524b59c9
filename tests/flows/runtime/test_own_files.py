"""Own files get pseudonyms, by which lineage finds a person; logs to monitor are the gateway's, or those named."""

from functools import partial
from pathlib import Path

import pytest

from flows.runtime.session import logs_to_monitor, own_files
from schemas.config.config import SynthesizeConfig
from schemas.config.profiles import load_config
from schemas.errors import InputError
from schemas.progress import silent
from tasks.lineage.erase.find import reached
from tasks.lineage.store.artifacts import ArtifactStore
from tasks.lineage.store.inventory import read_inventory
from tasks.synthesize import stage
from tasks.synthesize.own.identities import KEY_FILE, find_known

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


def config_of(folder: Path, second: str = "rui@example.com") -> SynthesizeConfig:
    folder.mkdir(exist_ok=True)
    (folder / "notas.csv").write_text(ROWS.format(second), encoding="utf-8")
    (folder / "mapa.toml").write_text(MAP, encoding="utf-8")
    return SynthesizeConfig(source="files", files=folder / "mapa.toml", counts={"sentiment": 5})


@pytest.mark.parametrize("identity", ["rui@example.com", "111.444.777-35", "+55 11 91234-5678"])
def test_a_person_is_found_whom_no_artifact_names(tmp_path: Path, identity: str) -> None:
    state, config = tmp_path / "state", config_of(tmp_path / "shop", identity)
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
    config = config_of(tmp_path / "shop")
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
