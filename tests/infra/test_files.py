"""Files that start a team's servers and machines are well-formed, and keep their secrets."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from schemas.config.profiles import load_config
from schemas.source import REPOSITORY

INFRA = REPOSITORY / "infra"
SCRIPTS = sorted(INFRA.rglob("*.sh"))
DOCKERFILES = sorted(INFRA.glob("docker/*.Dockerfile"))
COMPOSE = INFRA / "compose.yaml"
BUILD = INFRA / "cloudbuild.yaml"
YAML = [
    COMPOSE,
    BUILD,
    INFRA / "work_pools.yaml",
    REPOSITORY / "prefect.yaml",
    *sorted(INFRA.glob("automations/*.yaml")),
]
# Lines as long as the code's, and no line that only says that a document begins.
YAML_RULES = "{extends: default, rules: {line-length: {max: 130}, document-start: disable, braces: disable}}"
BIN = Path(sys.executable).parent


def lint(*command: str) -> None:
    done = subprocess.run(
        [str(BIN / command[0]), *command[1:]], cwd=REPOSITORY, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def compose() -> dict[str, Any]:
    document = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))
    assert isinstance(document, dict)
    return document


def test_the_commands_that_people_are_asked_to_apply_with_are_configurations() -> None:
    text = (INFRA / "README.md").read_text(encoding="utf-8").replace("\\\n", " ")
    commands = re.findall(r"tucano infra apply --profile (\S+)(.*)", text)
    assert [profile for profile, _ in commands] == ["local", "l4"]
    configs = [load_config(profile, re.findall(r"--set (\S+)", settings)) for profile, settings in commands]
    assert [config.workers.training for config in configs] == [None, "training/train"]
    assert [config.workers.for_inference for config in configs] == [None, "inference/inference"]
    # Nothing that needs weights is done on the machine without a GPU.
    deployed = yaml.safe_load((REPOSITORY / "prefect.yaml").read_text(encoding="utf-8"))["deployments"]
    pools = {deployment["name"]: deployment["work_pool"]["name"] for deployment in deployed}
    assert {name for name, pool in pools.items() if pool == "l4-spot"} == {"train", "inference"}
    # The monitoring reads what is outside of the container.
    assert {config.monitor.logs for config in configs} == {Path("/data/logs")}
    assert "${DATA:-./data}:/data:ro" in compose()["services"]["worker"]["volumes"]


def test_scripts_dockerfiles_and_yaml_pass_their_linters() -> None:
    assert SCRIPTS and DOCKERFILES
    lint("shellcheck", "--external-sources", "--source-path", str(REPOSITORY), *map(str, SCRIPTS))
    lint("hadolint", *map(str, DOCKERFILES))
    lint("yamllint", "--strict", "--config-data", YAML_RULES, *map(str, YAML))
    assert [file.name for file in SCRIPTS if not file.stat().st_mode & 0o100] == []


def test_images_are_given_all_that_the_code_reads_and_nothing_secret() -> None:
    lines = (REPOSITORY / ".dockerignore").read_text(encoding="utf-8").splitlines()
    packages = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    parts = set(packages["tool"]["hatch"]["build"]["only-include"])
    assert "**" in lines
    # Workers build no wheels.
    assert {f"!{part}" for part in parts - {"packages"}} <= set(lines)
    assert lines.index("**/*.env") > max(lines.index(line) for line in lines if line.startswith("!"))


@pytest.mark.parametrize("file", DOCKERFILES, ids=lambda file: file.stem)
def test_an_image_has_a_fixed_base_and_a_user_of_its_own_and_copies_only_files_that_are_there(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert re.findall(r"^FROM (\S+)$", text, re.MULTILINE) == ["python:3.11-slim-bookworm"]
    assert re.findall(r"^USER (\S+)$", text, re.MULTILINE) == ["1000"]
    ignored = (REPOSITORY / ".dockerignore").read_text(encoding="utf-8").splitlines()
    kept = {line[1:] for line in ignored if line[:1] == "!"}
    for line in re.findall(r"^COPY (.+)$", text, re.MULTILINE):
        for source in line.split()[:-1]:
            assert (REPOSITORY / source).exists(), source
            assert source == "." or any(source == name or source.startswith(f"{name}/") for name in kept), source


def test_a_build_makes_one_image_of_a_commit_and_tags_it_so() -> None:
    build = yaml.safe_load(BUILD.read_text(encoding="utf-8"))
    (step,), (image,) = build["steps"], build["images"]
    assert {f"--tag={image}", "--build-arg=COMMIT=${_COMMIT}"} <= set(step["args"])
    assert image.endswith(":${_COMMIT}")
    for name in ("worker-l4", "worker-cpu"):
        text = (INFRA / "docker" / f"{name}.Dockerfile").read_text(encoding="utf-8")
        assert "ENV TUCANO_COMMIT=$COMMIT\n" in text


def test_every_secret_of_the_servers_comes_from_the_environment_and_is_asked_for() -> None:
    text = COMPOSE.read_text(encoding="utf-8")
    demanded = set(re.findall(r"\$\{(\w+):\?", text))
    optional = set(re.findall(r"\$\{(\w+):-", text))
    assert set(re.findall(r"\$\{(\w+)", text)) == demanded | optional
    example = (INFRA / "compose.env.example").read_text(encoding="utf-8")
    assert set(re.findall(r"^(\w+)=$", example, re.MULTILINE)) == demanded
    assert set(re.findall(r"^#(\w+)=", example, re.MULTILINE)) == optional
    for service in compose()["services"].values():
        for name, value in service.get("environment", {}).items():
            if re.search("PASSWORD|SECRET|AUTH|TOKENS", name):
                assert re.fullmatch(r"\$\{\w+(:\?[^}]+|:-)?\}", value), name


def test_the_servers_listen_on_loopback_unless_set_otherwise_and_only_when_their_database_does() -> None:
    services = compose()["services"]
    assert "ports" not in services["postgres"]
    for name in ("prefect", "mlflow"):
        assert all(port.startswith("${LISTEN:-127.0.0.1}:") for port in services[name]["ports"])
        assert services[name]["depends_on"] == {"postgres": {"condition": "service_healthy"}}
        assert "healthcheck" in services[name]
    assert "healthcheck" in services["postgres"]
    assert "PREFECT_SERVER_API_AUTH_STRING" in services["prefect"]["environment"]
    # Without a driver's name SQLAlchemy takes psycopg 3, which is not there.
    assert services["mlflow"]["environment"]["MLFLOW_BACKEND_STORE_URI"].startswith("postgresql+psycopg2://")


def test_no_service_has_a_secret_that_it_does_not_use() -> None:
    services = compose()["services"]
    secret = {
        name: {key for key in service.get("environment", {}) if re.search("PASSWORD|SECRET|AUTH", key)}
        for name, service in services.items()
    }
    assert secret["waker"] == secret["vertex"] == {"PREFECT_API_AUTH_STRING"}
    # MLflow's administrator may do anything, also to its users; a worker needs no such right.
    assert services["worker"]["environment"]["MLFLOW_TRACKING_USERNAME"] == "worker"
    holders = [name for name, service in services.items() if "MLFLOW_ADMIN_PASSWORD" in str(service)]
    assert holders == ["mlflow"]


def test_a_job_of_vertex_ai_is_one_spot_l4_and_carries_no_secret() -> None:
    template = json.loads((INFRA / "pools" / "vertex.json").read_text(encoding="utf-8"))
    variables, configuration = template["variables"], template["job_configuration"]
    Draft202012Validator.check_schema(variables)
    assert set(re.findall(r"\{\{ (\w+) \}\}", json.dumps(configuration))) <= set(variables["properties"])
    assert variables["properties"]["scheduling"]["default"]["strategy"] == "SPOT"
    assert variables["properties"]["accelerator_type"]["default"] == "NVIDIA_L4"
    container = configuration["job_spec"]["worker_pool_specs"][0]["container_spec"]
    assert (REPOSITORY / container["command"][0]).is_file()
    # Otherwise the worker's own would stand in the job's description.
    assert configuration["env"]["PREFECT_API_AUTH_STRING"] is None
    assert configuration["env"]["PREFECT_API_KEY"] is None
    # What people are asked to give is all that has no default.
    examples = re.findall(r"```yaml\n(.*?)```", (INFRA / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert [set(yaml.safe_load(text)) for text in examples] == [set(variables["required"])]
    # Of a gated model; where it is empty, none is read.
    assert configuration["env"]["HF_TOKEN_SECRET"] == "{{ hub_token_secret }}"
    assert variables["properties"]["hub_token_secret"]["default"] == ""
    # One after another; the V4.2 report's training took that long.
    hours = 22.6 * len(load_config("l4", []).train.seeds)
    assert variables["properties"]["maximum_run_time_hours"]["default"] > hours
