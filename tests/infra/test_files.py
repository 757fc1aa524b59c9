"""What starts a team's servers and machines is well-formed, and holds what a team relies on."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import hcl2
import pytest
import yaml
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from flows.session import configure_prefect
from schemas.config import REPOSITORY
from schemas.profiles import load_config

INFRA = REPOSITORY / "infra"
SCRIPTS = sorted(INFRA.rglob("*.sh"))
DOCKERFILES = sorted(INFRA.glob("docker/*.Dockerfile"))
TERRAFORM = sorted(INFRA.glob("terraform/*.tf"))
COMPOSE = INFRA / "compose.yaml"
YAML = [COMPOSE, INFRA / "work_pools.yaml", REPOSITORY / "prefect.yaml", *sorted(INFRA.glob("automations/*.yaml"))]
# Lines as long as the code's, and no line that only says that a document begins.
YAML_RULES = "{extends: default, rules: {line-length: {max: 130}, document-start: disable, braces: disable}}"
BIN = Path(sys.executable).parent


def lint(*command: str) -> None:
    done = subprocess.run(
        [str(BIN / command[0]), *command[1:]], cwd=REPOSITORY, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def blocks(sort: str, kind: str) -> dict[str, Any]:
    """Return the resources of a kind, or all variables, of all Terraform files, by name."""
    found: dict[str, Any] = {}
    for file in TERRAFORM:
        for block in hcl2.loads(file.read_text(encoding="utf-8")).get(sort, []):
            for label, body in block.items():
                named = body if sort == "resource" else {label: body}
                if sort == "variable" or unquoted(label) == kind:
                    found |= {unquoted(key): value for key, value in named.items()}
    return found


def unquoted(label: str) -> str:
    return label.strip('"')


def compose() -> dict[str, Any]:
    document = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))
    assert isinstance(document, dict)
    return document


def test_the_commands_that_people_are_told_to_apply_with_are_configurations() -> None:
    text = (INFRA / "README.md").read_text(encoding="utf-8").replace("\\\n", " ")
    commands = re.findall(r"tucano infra apply --profile (\S+)(.*)", text)
    assert [profile for profile, _ in commands] == ["local", "l4"]
    handed = [
        load_config(profile, re.findall(r"--set (\S+)", settings)).workers.training for profile, settings in commands
    ]
    assert handed == [None, "training/train"]


def test_shell_scripts_pass_shellcheck_and_can_be_started() -> None:
    assert SCRIPTS
    lint("shellcheck", "--external-sources", "--source-path", str(REPOSITORY), *map(str, SCRIPTS))
    assert [file.name for file in SCRIPTS if not file.stat().st_mode & 0o100] == []


def test_dockerfiles_pass_hadolint() -> None:
    assert DOCKERFILES
    lint("hadolint", *map(str, DOCKERFILES))


def test_yaml_files_pass_yamllint() -> None:
    lint("yamllint", "--strict", "--config-data", YAML_RULES, *map(str, YAML))


@pytest.mark.skipif(shutil.which("terraform") is None, reason="no terraform on this machine")
def test_terraform_files_are_formatted() -> None:
    done = subprocess.run(
        ["terraform", f"-chdir={INFRA / 'terraform'}", "fmt", "-check", "-recursive"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("file", DOCKERFILES, ids=lambda file: file.stem)
def test_an_image_has_a_base_of_a_fixed_version_and_a_user_of_its_own(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert re.findall(r"^FROM (\S+)$", text, re.MULTILINE) == ["python:3.11-slim-bookworm"]
    assert re.findall(r"^USER (\S+)$", text, re.MULTILINE) == ["1000"]


@pytest.mark.parametrize("file", DOCKERFILES, ids=lambda file: file.stem)
def test_what_an_image_copies_is_there_and_is_not_ignored(file: Path) -> None:
    kept = {
        line[1:] for line in (REPOSITORY / ".dockerignore").read_text(encoding="utf-8").splitlines() if line[:1] == "!"
    }
    for line in re.findall(r"^COPY (.+)$", file.read_text(encoding="utf-8"), re.MULTILINE):
        for source in line.split()[:-1]:
            assert (REPOSITORY / source).exists(), source
            assert source == "." or any(source == name or source.startswith(f"{name}/") for name in kept), source


def test_images_are_given_all_that_the_code_reads_and_nothing_secret() -> None:
    lines = (REPOSITORY / ".dockerignore").read_text(encoding="utf-8").splitlines()
    packages = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    parts = packages["tool"]["setuptools"]["packages"]["find"]["include"]
    assert "**" in lines
    assert {f"!{part.rstrip('*')}" for part in parts} | {"!data", "!infra/profiles", "!prefect.yaml"} <= set(lines)
    assert lines.index("**/*.env") > max(lines.index(line) for line in lines if line.startswith("!"))


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
            if re.search("PASSWORD|SECRET|AUTH", name):
                assert re.fullmatch(r"\$\{\w+(:\?[^}]+)?\}", value), name


def test_the_servers_listen_on_loopback_unless_told_otherwise_and_only_when_their_database_does() -> None:
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


@pytest.mark.parametrize("worker", ["worker-cpu", "worker-l4"])
def test_what_stages_returned_outlives_a_container_where_commands_look_for_it(
    worker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith("PREFECT_")] + ["PREFECT_LOCAL_STORAGE_PATH"]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DO_NOT_TRACK", "1")
    with monkeypatch.context() as patch:
        patch.setattr(os, "environ", dict(os.environ))
        configure_prefect(tmp_path)
        of_commands = Path(os.environ["PREFECT_LOCAL_STORAGE_PATH"]).relative_to(tmp_path.resolve())
    text = (INFRA / "docker" / f"{worker}.Dockerfile").read_text(encoding="utf-8")
    assert re.findall(r"PREFECT_LOCAL_STORAGE_PATH=(\S+)", text) == [f"/state/{of_commands}"]
    assert "state:/state" in compose()["services"]["worker"]["volumes"]


def test_every_volume_file_and_image_of_compose_is_there() -> None:
    document = compose()
    for name, service in document["services"].items():
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert source in document["volumes"] or (INFRA / source).is_file(), (name, source)
        if "build" in service:
            assert (REPOSITORY / service["build"]["dockerfile"]).is_file(), name
        for part in service.get("command", []):
            assert not part.endswith(".sh") or (REPOSITORY / part).is_file(), (name, part)


def test_workers_work_on_the_pools_that_prefect_is_given() -> None:
    pools = {
        pool["name"] for pool in yaml.safe_load((INFRA / "work_pools.yaml").read_text(encoding="utf-8"))["work_pools"]
    }
    assert compose()["services"]["worker"]["command"][-1] in pools
    assert re.search(r"L4_POOL:-([\w-]+)", (INFRA / "docker" / "l4.sh").read_text(encoding="utf-8")) is not None
    assert "l4-spot" in pools


def test_the_bucket_is_closed_versioned_and_never_loses_what_is_live() -> None:
    bucket = blocks("resource", "google_storage_bucket")["state"]
    assert bucket["uniform_bucket_level_access"] is True
    assert unquoted(bucket["public_access_prevention"]) == "enforced"
    assert bucket["versioning"][0]["enabled"] is True
    rules = bucket["lifecycle_rule"]
    deleting = [rule for rule in rules if unquoted(rule["action"][0]["type"]) == "Delete"]
    assert deleting
    for rule in deleting:
        assert "days_since_noncurrent_time" in rule["condition"][0]
        assert unquoted(rule["condition"][0]["with_state"]) == "ARCHIVED"


def test_accounts_have_narrow_roles_and_no_keys() -> None:
    members = [
        *blocks("resource", "google_project_iam_member").values(),
        *blocks("resource", "google_storage_bucket_iam_member").values(),
    ]
    roles = {unquoted(str(member["role"])) for member in members}
    assert not {role for role in roles if re.search(r"roles/(owner|editor|.*[aA]dmin)$", role)}
    assert blocks("resource", "google_service_account_key") == {}
    custom = blocks("resource", "google_project_iam_custom_role")["resize"]["permissions"]
    assert {unquoted(name).rpartition(".")[0] for name in custom} == {"compute.instanceGroupManagers"}


def test_terraforms_state_holds_no_secret() -> None:
    assert blocks("resource", "google_secret_manager_secret")
    assert blocks("resource", "google_secret_manager_secret_version") == {}
    assert not [name for name in blocks("variable", "") if re.search("password|secret|auth", name)]


def test_the_l4_is_one_spot_machine_that_sizes_itself() -> None:
    template = blocks("resource", "google_compute_instance_template")["l4"]
    assert unquoted(template["machine_type"]) == "g2-standard-4"
    assert unquoted(template["scheduling"][0]["provisioning_model"]) == "SPOT"
    assert "access_config" not in template["network_interface"][0]
    group = blocks("resource", "google_compute_instance_group_manager")["l4"]
    assert group["target_size"] == 0
    assert "target_size" in str(group["lifecycle"][0]["ignore_changes"])


def test_start_up_scripts_read_only_what_terraform_sets() -> None:
    script = (INFRA / "terraform" / "scripts" / "l4-startup.sh").read_text(encoding="utf-8")
    metadata = blocks("resource", "google_compute_instance_template")["l4"]["metadata"]
    read = set(re.findall(r"attribute (tucano-[\w-]+)", script))
    assert read == {unquoted(name) for name in metadata if unquoted(name).startswith("tucano-")}


APIS = {
    "google_artifact_registry_repository": "artifactregistry",
    "google_compute": "compute",
    "google_project_iam_custom_role": "iam",
    "google_project_iam_member": "cloudresourcemanager",
    "google_secret_manager": "secretmanager",
    "google_service_account": "iam",
    "google_storage": "storage",
}


def test_every_api_that_is_used_is_enabled_before() -> None:
    text = "\n".join(file.read_text(encoding="utf-8") for file in TERRAFORM)
    resources = dict(re.findall(r'^resource "(\w+)" "\w+" \{$()', text, re.MULTILINE))
    enabled = set(re.findall(r'"(\w+)\.googleapis\.com"', text))
    del resources["google_project_service"]
    for kind in resources:
        needed = [api for prefix, api in APIS.items() if kind.startswith(prefix)]
        assert needed, kind
        assert set(needed) <= enabled, kind
    # To write logs, and to reach a machine through the tunnel, is in a role only.
    assert {"logging", "iap"} <= enabled


def test_every_resource_waits_until_the_apis_are_enabled() -> None:
    text = "\n".join(file.read_text(encoding="utf-8") for file in TERRAFORM)
    bodies = {
        f"{kind}.{name}": body
        for kind, name, body in re.findall(r'^resource "(\w+)" "(\w+)" \{\n(.*?)^\}', text, re.MULTILINE | re.DOTALL)
    }
    assert len(bodies) == len(re.findall(r'^resource "', text, re.MULTILINE))
    waiting = {"google_project_service.used"}
    while True:
        more = {name for name, body in bodies.items() if any(re.search(rf"\b{other}\b", body) for other in waiting)}
        if more <= waiting:
            break
        waiting |= more
    assert set(bodies) == waiting


def test_every_variable_of_terraform_is_used_and_told() -> None:
    text = "\n".join(file.read_text(encoding="utf-8") for file in TERRAFORM)
    for name, body in blocks("variable", "").items():
        assert body["description"], name
        assert f"var.{name}" in text, name


def test_a_job_of_vertex_ai_is_one_spot_l4_and_carries_no_secret() -> None:
    template = json.loads((INFRA / "pools" / "vertex.json").read_text(encoding="utf-8"))
    variables, configuration = template["variables"], template["job_configuration"]
    Draft202012Validator.check_schema(variables)
    named = set(re.findall(r"\{\{ (\w+) \}\}", json.dumps(configuration)))
    assert named <= set(variables["properties"])
    assert variables["properties"]["scheduling"]["default"]["strategy"] == "SPOT"
    assert variables["properties"]["accelerator_type"]["default"] == "NVIDIA_L4"
    container = configuration["job_spec"]["worker_pool_specs"][0]["container_spec"]
    assert (REPOSITORY / container["command"][0]).is_file()
    # Otherwise the worker's own would stand in the job's description.
    assert configuration["env"]["PREFECT_API_AUTH_STRING"] is None
    assert configuration["env"]["PREFECT_API_KEY"] is None
