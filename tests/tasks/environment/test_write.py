"""The package scores as the pipeline, alone in an environment, and holds nothing of the test split and of people."""

import json
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from schemas.config.profiles import load_config
from schemas.errors import InputError
from schemas.store.files import read_store
from tasks.environment.write import EMPTIED, Engine, write_engine, write_environment
from tasks.lineage.store.artifacts import digest_files
from tests.tasks.environment.packages import AUDIT, PERSON, TESTED, write_package

SCORE = """
import json, sys
sys.path[:] = [path for path in sys.path if path not in ("", sys.argv[3])] + [sys.argv[1]]
import tucano_commerce
alone = sorted(name for name in sys.modules if name.split(".")[0] in ("flows", "tasks", "schemas", "polars", "torch"))
lines, found = [json.loads(line) for line in open(sys.argv[2], encoding="utf-8")], []
for line in lines:
    asked = {"prompt_id": [line["prompt_id"]], "completions": [[{"role": "assistant", "content": line["completion"]}]]}
    values = {function.__name__: function(**asked)[0] for function, _ in tucano_commerce.trl_rewards()}
    scored = tucano_commerce.compute_score(
        data_source="tucano_commerce", solution_str=line["completion"], ground_truth=line["prompt_id"], extra_info={}
    )
    found.append({"trl": values, "verl": scored})
pushes = [line for line in lines if line["components"].get("variety")][:1] * 2
(variety,) = [function for function, _ in tucano_commerce.trl_rewards() if function.__name__ == "push_variety"]
twice = variety(
    completions=[[{"role": "assistant", "content": each["completion"]}] for each in pushes],
    prompt_id=[each["prompt_id"] for each in pushes],
)
print(json.dumps({"alone": alone, "scored": found, "twice": twice}))
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_package(tmp_path_factory.mktemp("environment"))


@pytest.fixture(scope="module")
def scored(package: Path) -> Any:
    """What a process says of the audit's answers that has the package and none of our own modules."""
    expected, repository = package.parent / "expected.jsonl", str(Path(__file__).parents[3])
    command = [sys.executable, "-B", "-c", SCORE, str(package), str(expected), repository]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=package.parent, check=False)
    assert ended.returncode == 0, ended.stderr[-2_000:]
    return json.loads(ended.stdout)


@pytest.mark.slow
def test_functions_of_components_and_verls_score_are_the_pipelines(package: Path, scored: Any) -> None:
    lines = (package.parent / "expected.jsonl").read_text(encoding="utf-8").splitlines()
    expected: list[dict[str, Any]] = [json.loads(line) for line in lines]
    assert len(scored["scored"]) == len(expected) > 300
    assert max(line["reward"] for line in expected) > 0.9
    for found, line in zip(scored["scored"], expected, strict=True):
        own = {f"{line['task']}_{name}": value for name, value in line["components"].items()}
        assert {name: value for name, value in found["trl"].items() if value is not None} == own
        assert found["verl"]["score"] == pytest.approx(line["reward"], abs=1e-9)
        assert {name: found["verl"][name] for name in own} == own


@pytest.mark.slow
def test_nothing_of_another_name_is_imported_and_a_batchs_equal_pushes_share_their_variety(scored: Any) -> None:
    assert scored["alone"] == []
    first, second = scored["twice"]
    assert first == second == 0


def test_neither_the_test_split_nor_a_person_nor_a_text_of_the_store_is_in_it(package: Path) -> None:
    data = package / "tucano_commerce" / "environment"
    text = "".join(file.read_text(encoding="utf-8") for file in data.iterdir())
    assert TESTED not in text
    assert PERSON not in text
    rows = [json.loads(line) for name in ("train", "validation") for line in (data / f"{name}.jsonl").open()]
    assert len(rows) > 60
    assert all(row["reward_model"]["ground_truth"] == row["prompt_id"] for row in rows)
    store = read_store(AUDIT / "store")
    written = json.loads((data / "store.json").read_bytes())["copies"][0]
    for table, columns in EMPTIED.items():
        places = [name for name, _ in written[table]["columns"]]
        for column in columns:
            assert getattr(store, table)[column].drop_nulls().n_unique() > 1
            cells = [row[places.index(column)] for row in written[table]["rows"]]
            assert {*cells} <= {"-", None}
            assert cells.count(None) == getattr(store, table)[column].null_count()
    assert not {*store.orders["order_id"], *store.orders["customer_id"]} & {*re.findall(r"\w+", text)}


def test_equal_inputs_give_equal_bytes_and_the_wheel_has_the_data(package: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    again.mkdir()
    write_environment(package.parent / "dataset", AUDIT / "store", "grounded", {"dataset": "d"}, again)
    assert digest_files(again) == digest_files(package)
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "wheel")]
    subprocess.run(command, cwd=again, check=True, capture_output=True)
    (wheel,) = (tmp_path / "wheel").glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"tucano_commerce/environment/train.jsonl", "tucano_commerce/data/evidence/push.toml"} <= names
    assert {name.split("/")[0] for name in names} == {"tucano_commerce", "tucano_commerce-0.1.0.dist-info"}


@pytest.mark.parametrize("engine", get_args(Engine))
def test_the_settings_of_an_engine_are_the_profiles(package: Path, tmp_path: Path, engine: Engine) -> None:
    config = load_config("local", ["train.generations=4", "train.max_completion_tokens=77"])
    write_engine(engine, config, tmp_path, package)
    (file,) = tmp_path.iterdir()
    text = file.read_text(encoding="utf-8")
    known = tomllib.loads(text) if file.suffix == ".toml" else yaml.safe_load(text)
    if engine == "prime-rl":
        assert (known["orchestrator"]["group_size"], known["max_steps"]) == (4, 60)
    elif engine == "verl":
        assert Path(known["data"]["train_files"]).is_file()
        assert (known["data"]["max_response_length"], known["trainer"]["total_training_steps"]) == (77, 60)
    else:
        (agent,) = known["verifiers_agent"]["responses_api_agents"].values()
        assert (agent["vf_env_id"], agent["max_tokens"]) == ("tucano_commerce", 77)


def test_rewards_with_penalties_are_refused(package: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"v4\.2 have penalties \(extraction mismatch, push formal\); use"):
        write_environment(package.parent / "dataset", AUDIT / "store", "v4.2", {}, tmp_path)
