"""`tucano lineage`: both ways from every kind of reference, as a tree, a document and a page, or one sentence."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from schemas.errors import InputError
from tasks.lineage.graph.page import render
from tasks.lineage.store.artifacts import ArtifactStore
from tests.flows.command import Ended, in_this_process
from tests.tasks.lineage.small_world import ANA, BIA, MODEL, PARAPHRASE, TRAINED, World, make_world


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory.mktemp("state") / "artifacts")


@pytest.fixture
def own(world: World, tmp_path: Path) -> World:
    """A copy of the world, to be damaged."""
    return World(Path(shutil.copytree(world.root, tmp_path / "artifacts")), world.made)


def tucano(world: World, *arguments: str | Path) -> Ended:
    return in_this_process("lineage", *arguments, "--set", f"state.root={world.root.parent}")


def refuses(ended: Ended, sentence: str) -> None:
    assert ended.returncode == 2
    assert sentence in ended.text
    assert "Traceback" not in ended.text
    assert ended.stdout == ""


def words(ended: Ended) -> str:
    """Return what was printed without the frames and line breaks of tables."""
    return " ".join(word for word in ended.text.split() if word not in {"│", "┃"})


def test_a_version_is_reported_as_a_list_within_100_columns_and_as_a_document(world: World) -> None:
    ended = tucano(world, "1", "--long", "--json")
    assert ended.returncode == 0, ended.stderr
    assert f"{MODEL}/1" in ended.stderr
    assert "train 3 simulated validation 1 simulated test 1 simulated" in words(ended)
    assert "scored by ana-1 (human)" in words(ended)
    assert "It led to" not in ended.stderr
    assert max(map(len, tucano(world, "1", "--long").stdout.splitlines())) <= 100
    document = json.loads(ended.stdout)
    assert {node["key"] for node in document["nodes"]} >= {record.sha256 for record in world.made.values()}
    assert document["subjects"] == [f"version:{MODEL}/1"]
    assert TRAINED.prompt_id in document["rows"]["train"]


def test_a_row_is_reported_with_whom_it_is_of_and_what_came_of_it(world: World) -> None:
    ended = tucano(world, "rev1", "--long")
    assert ended.returncode == 0, ended.stderr
    before, _, after = ended.stdout.partition("It led to")
    assert f"customer {ANA}" in before
    assert f"{MODEL}/1" in after
    assert "step 2 2 rollouts, reward 0.500 (0.250-0.750), 1 trained on" in words(ended)
    assert TRAINED.prompt not in ended.text


def test_a_version_is_answered_in_a_few_lines_that_say_where_the_rest_is(world: World) -> None:
    lines = tucano(world, "1").text.splitlines()
    assert lines[0] == f"{MODEL}/1"
    assert any("from policy" in line and "grpo, seed 7, 6 steps" in line for line in lines)
    assert any("from audit" in line and "ana-1 (human)" in line for line in lines)
    assert "--long" in lines[-1]
    assert len(lines) <= 10


def test_a_prompt_is_answered_first_by_its_split_and_the_models_that_it_reached(world: World) -> None:
    lines = tucano(world, TRAINED.prompt_id).text.splitlines()
    assert lines[0] == f"prompt {TRAINED.prompt_id[:12]}: train; model {MODEL}/1"
    assert any("sampled: " in line and "step 2" in line for line in lines)
    assert any(f"customer {ANA}" in line for line in lines)


def test_a_person_is_answered_by_the_splits_of_all_that_is_theirs(world: World) -> None:
    lines = tucano(world, ANA).text.splitlines()
    assert lines[0].startswith(f"customer {ANA}: ")
    assert f"model {MODEL}/1" in lines[0]


def test_a_run_that_made_one_artifact_is_reported_as_that(world: World) -> None:
    run = world.made["curate"].mlflow_run_id
    assert run is not None
    assert tucano(world, run).text == tucano(world, world.made["curate"].sha256).text


def test_a_run_that_made_several_is_reported_as_a_list_of_them(world: World) -> None:
    run = world.made["evaluate"].prefect_run_id
    assert run is not None
    reported = tucano(world, run, "--json")
    made = [world.made[stage] for stage in ("plan", "answer-tuned", "evaluate")]
    assert all(f"{record.kind} {record.sha256[:12]}" in reported.stderr for record in made)
    assert json.loads(reported.stdout)["subjects"] == [record.sha256 for record in made]


def test_the_page_is_written_and_replaced(world: World, tmp_path: Path) -> None:
    page = tmp_path / "lineage.html"
    page.write_text("an older one", encoding="utf-8")
    ended = tucano(world, "1", "--html", page)
    assert ended.returncode == 0, ended.text
    assert f"page: {page}" in ended.text
    walker = world.walker()
    assert page.read_text(encoding="utf-8") == render(walker.walk(walker.find("1")))


def test_a_page_that_cannot_be_written_is_reported(world: World, tmp_path: Path) -> None:
    refuses(tucano(world, "1", "--html", tmp_path / "nowhere" / "page.html"), "name another file with --html FILE")
    (tmp_path / "folder").mkdir()
    refuses(tucano(world, "1", "--html", tmp_path / "folder"), "name another file with --html FILE")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_flipped_byte_is_found_by_verify_with_3(own: World) -> None:
    assert tucano(own, "1", "--verify").returncode == 0
    weights = ArtifactStore(own.root).path(own.made["train"].sha256) / "adapter" / "adapter_model.safetensors"
    content = bytearray(weights.read_bytes())
    content[3] ^= 4
    weights.chmod(0o644)
    weights.write_bytes(content)
    ended = tucano(own, "1", "--verify", "--json")
    assert ended.returncode == 3
    document = json.loads(ended.stdout)
    (finding,) = document["findings"]
    assert (finding["sha256"], finding["file"], finding["what"]) == (
        own.made["train"].sha256,
        "adapter/adapter_model.safetensors",
        "altered",
    )
    assert (document["artifacts"], document["whole"]) == (len(own.made), False)
    assert tucano(own, own.made["curate"].sha256, "--verify").returncode == 3
    assert tucano(own, own.made["audit"].sha256[:8], "--verify").returncode == 3


@pytest.mark.parametrize("reference", ["rev3", "ord3"])
def test_verify_hashes_the_store_of_what_no_prompt_was_made_of(own: World, reference: str) -> None:
    assert "1 artifacts are what their records say" in tucano(own, reference, "--verify").text
    store = ArtifactStore(own.root).path(own.made["synthesize"].sha256) / "store"
    (store / "olist_customers_dataset.csv").unlink()
    assert tucano(own, reference, "--verify").returncode == 3


def test_a_deleted_artifact_is_reported_and_found_by_verify(own: World) -> None:
    shutil.rmtree(own.root / "base" / own.made["base"].sha256)
    ended = tucano(own, "1")
    assert ended.returncode == 0
    assert "the store has it no more; it was base of policy" in ended.text
    assert tucano(own, "1", "--verify").returncode == 3


def test_what_holds_a_customer_is_answered_first_and_the_commands_that_forget(world: World) -> None:
    ended = tucano(world, ANA, "--forget", "--json")
    assert ended.returncode == 0, ended.text
    document = json.loads(ended.stdout)
    assert {TRAINED.prompt_id, PARAPHRASE.prompt_id} <= set(document["prompts"])
    assert world.made["train"].sha256 in {place["sha256"] for place in document["places"]}
    lines = ended.stderr.splitlines()
    assert lines[0] == f"customer_unique_id {ANA}: 2 prompts, 7 artifacts, 1 model"
    assert "  rows in prompts, dataset, policy" in lines
    assert f"what forgetting would do: tucano forget {ANA}" in lines
    assert f"to do it: tucano forget {ANA} --apply" in lines
    assert "--long" in lines[-1]
    assert (len(lines) <= 10, max(map(len, lines)) <= 100) == (True, True)


def test_every_place_of_a_customer_is_listed_with_what_to_do_by_hand_where_asked(world: World) -> None:
    lines = tucano(world, ANA, "--forget", "--long").text.splitlines()
    assert lines[0] == f"customer_unique_id {ANA}: 2 prompts, 7 artifacts, 1 model"
    assert any("what to do" in line for line in lines)
    assert any("data/train.parquet" in line for line in lines)
    assert any("logs, sheets, MLflow" in line for line in lines)
    assert max(len(line) for line in lines if line.startswith("│")) <= 100


def test_who_was_only_tested_with_reached_no_model(world: World) -> None:
    lines = tucano(world, BIA, "--forget").text.splitlines()
    assert lines[0].endswith(" 0 models")
    assert "  without a row, but learned from one or from such weights: none" in lines


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("7",), f"the versions known here: {MODEL}/1"),
        (("deadbeef",), "'deadbeef' names nothing"),
        (("0" * 32,), "names nothing"),
        (("friday",), "'friday' names nothing"),
        (("",), "REF is empty"),
        (("1", "--verify", "--forget"), "--verify and --forget ask for different things"),
        (("1", "--forget", "--html", "page.html"), "--forget and --html ask for different things"),
    ],
)
def test_a_reference_that_names_nothing_is_one_sentence(
    world: World, arguments: tuple[str, ...], sentence: str
) -> None:
    refuses(tucano(world, *arguments), sentence)


def test_a_state_folder_without_artifacts_is_reported_with_the_remedy(tmp_path: Path) -> None:
    for option in ([], ["--verify"], ["--forget"]):
        ended = in_this_process("lineage", "1", *option, "--set", f"state.root={tmp_path / 'nowhere'}")
        refuses(ended, "run `tucano retrain` first")
    assert not (tmp_path / "nowhere").exists()


def test_a_mirror_that_cannot_be_read_hides_no_artifact(world: World, tmp_path: Path) -> None:
    ended = tucano(world, "1", "--set", f"state.mirror={tmp_path / 'nowhere'}")
    assert ended.returncode == 0, ended.text
    assert f"{MODEL}/1" in ended.text


def test_verify_never_asks_the_mirror(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    mirror = f"state.mirror={world.root.parent / 'mirror'}"

    def unreachable(address: str) -> None:
        asked.append(address)
        raise InputError("the mirror cannot be read")

    monkeypatch.setattr("flows.cli.lineage.read_trainings", unreachable)
    for arguments in (
        ["1", "--verify"],
        ["rev1", "--verify"],
        [world.made["curate"].sha256[:8], "--verify"],
    ):
        ended = tucano(world, *arguments, "--set", mirror)
        assert (ended.returncode, "warning" in ended.text) == (0, False), ended.text
    assert asked == []
    assert "the checkpoints and machines of trainings are not shown" in tucano(world, "1", "--set", mirror).text
    assert len(asked) == 1


def test_forgetting_tells_of_models_that_a_damaged_record_may_hide(own: World) -> None:
    record = own.root / "policy" / own.made["train"].sha256 / "record.json"
    record.chmod(0o644)
    record.write_bytes(b" " + record.read_bytes())
    ended = tucano(own, f" {ANA} ", "--forget", "--json")
    assert ended.returncode == 0, ended.text
    assert json.loads(ended.stdout)["possible_models"] == [f"{MODEL}/1"]
    assert f"models that it possibly reached: {MODEL}/1" in ended.text


def test_nothing_is_written_by_looking(world: World) -> None:
    before = {path: path.stat().st_mtime_ns for path in world.root.parent.rglob("*")}
    for arguments in (["1"], ["rev1", "--json"], ["1", "--verify"], [ANA, "--forget"], ["0" * 32], ["friday"]):
        tucano(world, *arguments)
    assert {path: path.stat().st_mtime_ns for path in world.root.parent.rglob("*")} == before


def test_a_query_loads_nothing_that_is_heavy(world: World) -> None:
    heavy = "{'google', 'torch', 'prefect', 'mlflow', 'pandera', 'scipy', 'matplotlib'}"
    code = (
        "import sys; from schemas.config.profiles import load_config; from flows.cli.lineage import open_walker; "
        f"walker = open_walker(load_config('local', ['state.root={world.root.parent}'])); "
        f"[walker.walk(walker.find(each)) for each in ('1', 'rev1')]; print({heavy} & set(sys.modules))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "set()"
