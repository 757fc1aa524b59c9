"""`tucano lineage`: both ways from every kind of reference, as a tree, a document and a page, or one sentence."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tasks.lineage.store.artifacts import ArtifactStore
from tests.flows.command import Ended, in_this_process
from tests.tasks.lineage.small_world import ANA, MODEL, PARAPHRASE, TRAINED, World, make_world


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
    assert tucano(world, "1").text.splitlines()[0] == f"{MODEL}/1"
    assert f": train; model {MODEL}/1" in tucano(world, TRAINED.prompt_id).text.splitlines()[0]
    document = json.loads(ended.stdout)
    assert {node["key"] for node in document["nodes"]} >= {record.sha256 for record in world.made.values()}
    assert document["subjects"] == [f"version:{MODEL}/1"]
    assert TRAINED.prompt_id in document["rows"]["train"]


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


def test_what_holds_a_customer_is_answered_first_and_the_commands_that_forget(world: World) -> None:
    ended = tucano(world, ANA, "--forget", "--json")
    assert ended.returncode == 0, ended.text
    document = json.loads(ended.stdout)
    assert {TRAINED.prompt_id, PARAPHRASE.prompt_id} <= set(document["prompts"])
    assert world.made["train"].sha256 in {place["sha256"] for place in document["places"]}
    lines = ended.stderr.splitlines()
    assert lines[0] == f"customer_unique_id {ANA}: 2 prompts, 7 artifacts, 1 model"
    assert "  rows in prompts, dataset, policy" in lines
    assert any(line.endswith(f": tucano forget {ANA}") for line in lines)


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


def test_a_query_loads_nothing_that_is_heavy(world: World) -> None:
    heavy = "{'google', 'torch', 'prefect', 'mlflow', 'scipy', 'matplotlib'}"
    code = (
        "import sys; from schemas.config.profiles import load_config; from flows.cli.lineage import open_walker; "
        f"walker = open_walker(load_config('local', ['state.root={world.root.parent}'])); "
        f"[walker.walk(walker.find(each)) for each in ('1', '{TRAINED.prompt_id}')]; print({heavy} & set(sys.modules))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "set()"
