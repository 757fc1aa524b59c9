"""The YAML files of `tucano infra` are read strictly, and Prefect's own tools read them too."""

from pathlib import Path

import pytest
import yaml
from prefect.cli.deploy._models import PrefectYamlModel

from flows.deploy.files import AUTOMATIONS_FOLDER, DEPLOYMENTS_FILE, POOLS_FILE, read_declared
from schemas.errors import InputError
from schemas.source import REPOSITORY
from tests.flows.infra_folder import copied, replace


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return copied(tmp_path / "checkout")


def test_prefects_own_command_reads_the_deployments_in_the_same_sense() -> None:
    theirs = PrefectYamlModel.model_validate(yaml.safe_load((REPOSITORY / DEPLOYMENTS_FILE).read_text()))
    ours = read_declared(REPOSITORY).deployments
    assert [each.entrypoint for each in theirs.deployments] == [each.entrypoint for each in ours]
    for their, our in zip(theirs.deployments, ours, strict=True):
        assert their.work_pool is not None
        assert (their.work_pool.name, their.work_pool.job_variables) == (
            our.work_pool.name,
            our.work_pool.job_variables,
        )
        assert their.concurrency_limit == our.concurrency_limit
    assert theirs.pull == []


@pytest.mark.parametrize(
    ("file", "old", "new", "reported"),
    [
        (
            DEPLOYMENTS_FILE,
            "    concurrency_limit: 1",
            "  concurrency_limit: 1",
            r"prefect\.yaml is no YAML: .*line \d+",
        ),
        (
            DEPLOYMENTS_FILE,
            "concurrency_limit: 1",
            "concurency_limit: 1",
            r"deployments\.0\.concurrency_limit is missing",
        ),
        (DEPLOYMENTS_FILE, "concurrency_limit: 1", "concurrency_limit: 0", r"greater than or equal to 1 \(it is 0\)"),
        (DEPLOYMENTS_FILE, "    tags: [retrain]", "    tag: [retrain]", r"deployments\.0\.tag: Extra inputs"),
        (DEPLOYMENTS_FILE, "pull: []", "pull: [{git_clone: {}}]", "pull"),
        (DEPLOYMENTS_FILE, "flows.retrain.retrain", "flows/retrain.py:retrain", r"deployments\.0\.entrypoint"),
        (DEPLOYMENTS_FILE, "name: audit\n", "name: evaluate\n", "flows.retrain.retrain as evaluate twice"),
        (POOLS_FILE, "name: l4-spot", "name: cpu", r"work_pools\.yaml says cpu twice"),
        (POOLS_FILE, "type: process", "type: vertex-ai", "type 'vertex-ai' needs a base_job_template"),
        (AUTOMATIONS_FOLDER / "drift.yaml", "model-drifted", "gate-refused", "says gate-refused twice"),
    ],
)
def test_a_slip_is_one_sentence_with_its_file(folder: Path, file: Path, old: str, new: str, reported: str) -> None:
    replace(folder / file, old, new)
    with pytest.raises(InputError, match=reported) as caught:
        read_declared(folder)
    assert file.parts[0] in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_named(folder: Path) -> None:
    (folder / POOLS_FILE).unlink()
    with pytest.raises(InputError, match=r"work_pools\.yaml cannot be read: No such file"):
        read_declared(folder)


def test_a_pool_of_another_type_has_the_template_that_its_file_holds(folder: Path) -> None:
    replace(folder / POOLS_FILE, "type: process\n    description: One", "type: vertex-ai\n    description: One")
    replace(folder / POOLS_FILE, "    description: One", "    base_job_template: vertex.json\n    description: One")
    (folder / "infra" / "vertex.json").write_text('{"job_configuration": {}, "variables": {"properties": {}}}')
    declared = read_declared(folder)
    assert declared.templates == {"l4-spot": {"job_configuration": {}, "variables": {"properties": {}}}}
    (folder / "infra" / "vertex.json").write_text('{"job_configuration": {}}')
    with pytest.raises(InputError, match=r"vertex\.json: variables is missing"):
        read_declared(folder)
