"""The containers that serve: closed, unable to write what is not theirs, and started with settings that there are."""

import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from flows.cli.tucano import load
from schemas.config.profiles import load_config
from schemas.config.serve import ServeConfig
from schemas.errors import InputError
from schemas.source import REPOSITORY
from tasks.serve.gateway.limits import read_tokens
from tests.infra.cloud import Cloud, environment, finish, start
from tests.storage_server import StorageServer, storage_server

INFRA = REPOSITORY / "infra"
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load((INFRA / "compose.yaml").read_text(encoding="utf-8"))["services"]
GATEWAYS = ("gateway", "gateway-to-engine")
ENGINE_URL = "http://engine:8000/v1"
needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="no curl on this machine")
SAYS_ITS_ARGUMENTS = """#!/usr/bin/env bash
printf '%s\\n' "$@"
"""
# It answers one question before it is asked to end, and one after.
ANSWERS = """#!/usr/bin/env bash
answer() { echo "{\\"answer\\": $1}" >>"$GATEWAY_STATE/logs/2026-11-27.jsonl"; }
mkdir --parents "$GATEWAY_STATE/logs/feedback"
echo '{"rating": 5}' >"$GATEWAY_STATE/logs/feedback/2026-11-27.jsonl"
answer 1
trap 'answer 2; exit 0' TERM
while true; do sleep 0.05 & wait $!; done
"""


def with_command(cloud: Cloud, name: str, text: str) -> dict[str, str]:
    """Return an environment in which a command of a container is played."""
    variables = environment(cloud)
    stub = Path(variables["PATH"].partition(":")[0]) / name
    stub.write_text(text, encoding="utf-8")
    stub.chmod(0o755)
    variables |= {"MLFLOW_SERVER": "http://mlflow:5000", "GATEWAY_STATE": str(cloud.log.parent / "state")}
    return variables


def command_of(service: str) -> list[str]:
    """Return a service's command, as it is where nobody sets anything."""
    return [re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", part) for part in SERVICES[service]["command"]]


def served(cloud: Cloud, arguments: list[str]) -> ServeConfig:
    """Return the settings of serving that a gateway's container starts with, as `tucano` itself reads them."""
    code, out, log = finish(start(*arguments, variables=with_command(cloud, "tucano", SAYS_ITS_ARGUMENTS)))
    assert code == 0, log
    name, *given = out.splitlines()
    # An option that there is not ends it.
    options = load(name).make_context(name, given).params
    config = load_config(options["profile"], options["overrides"])
    assert config.state.root == cloud.log.parent / "state"
    assert config.state.mlflow == "http://mlflow:5000"
    return config.serve


@pytest.mark.integration
@pytest.mark.parametrize("service", GATEWAYS)
def test_a_gateways_container_asks_for_a_token(cloud: Cloud, service: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first, *others = command_of(service)
    config, given = served(cloud, [Path(first).name, *others]), SERVICES[service]["environment"]
    assert not config.is_on_loopback
    # Compose demands no token, since those who do not serve have none; the gateway then refuses to start.
    assert config.token_variable == "GATEWAY_TOKENS"
    assert given["GATEWAY_TOKENS"] == "${GATEWAY_TOKENS:-}"
    monkeypatch.setenv("GATEWAY_TOKENS", "")
    with pytest.raises(InputError, match="the environment variable GATEWAY_TOKENS holds no token"):
        read_tokens("GATEWAY_TOKENS")
    assert config.engine_url == (None if service == "gateway" else ENGINE_URL)
    assert SERVICES[service]["ports"] == ["${LISTEN:-127.0.0.1}:8080:8080"]
    assert config.port == 8080
    assert given["MLFLOW_TRACKING_USERNAME"] == "gateway"
    assert given["MLFLOW_TRACKING_PASSWORD"] == SERVICES["mlflow"]["environment"]["MLFLOW_GATEWAY_PASSWORD"]
    # With Prefect's, an intruder could run anything on the workers.
    assert not [name for name in given if name.startswith("PREFECT")]


@pytest.mark.parametrize("service", [*GATEWAYS, "engine"])
def test_a_container_that_serves_writes_its_own_files_alone(service: str) -> None:
    container = SERVICES[service]
    assert (container["read_only"], container["user"], container["init"]) == (True, "1000", True)
    assert container["cap_drop"] == ["ALL"]
    assert container["security_opt"] == ["no-new-privileges:true"]
    assert container["restart"] == "unless-stopped"
    assert "privileged" not in container
    written = {volume for volume in container["volumes"] if not volume.endswith(":ro")}
    assert written == ({"logs:/state/logs"} if service in GATEWAYS else set())
    # The worker monitors: it reads the log, and changes none of it.
    assert "logs:/state/logs:ro" in SERVICES["worker"]["volumes"]


@pytest.mark.integration
def test_an_engine_fetches_its_weights_from_a_bucket(cloud: Cloud) -> None:
    variables = with_command(cloud, "interpreter", SAYS_ITS_ARGUMENTS)
    folder = Path(variables["PATH"].partition(":")[0])
    variables["PATH"] = os.pathsep.join([str(folder), str(Path(sys.executable).parent), os.environ["PATH"]])
    fetched = cloud.log.parent / "fetched"
    with storage_server(bucket="serving") as service:
        variables |= {"STORAGE_EMULATOR_HOST": service.url, "ENGINE_WEIGHTS": str(fetched)}
        variables["ENGINE_INTERPRETER"] = str(folder / "interpreter")
        code, _, log = finish(start("engine.sh", "gs://serving/engine", variables=variables))
        assert code == 1
        assert "gs://serving/engine holds no file; put the merged weights there" in log
        bucket = service.client().bucket("serving")
        for name in ("engine/config.json", "engine/parts/model.safetensors", "engine-of-old/config.json"):
            bucket.blob(name).upload_from_string(name)
        code, out, log = finish(start("engine.sh", "gs://serving/engine", variables=variables))
    assert code == 0, log
    assert ["--model", str(fetched)] == out.splitlines()[2:4]
    found = {str(file.relative_to(fetched)): file.read_text() for file in fetched.rglob("*") if file.is_file()}
    assert found == {"config.json": "engine/config.json", "parts/model.safetensors": "engine/parts/model.safetensors"}


def logged(service: StorageServer) -> dict[str, list[Any]]:
    """Return the lines of each file of a bucket, by its name without what is the container's own."""
    own = re.compile(r"-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(?=\.jsonl$)")
    bucket = service.client().bucket(service.bucket)
    # By their names, for they are replaced meanwhile.
    files = {each.name: bucket.blob(each.name).download_as_bytes() for each in bucket.list_blobs()}
    assert all(own.search(key) for key in files)
    return {own.sub("", key): [json.loads(line) for line in files[key].splitlines()] for key in files}


@needs_curl
@pytest.mark.integration
def test_without_a_lasting_disk_the_log_is_in_the_bucket_before_the_container_ends(cloud: Cloud) -> None:
    variables = with_command(cloud, "tucano", ANSWERS)
    variables |= {"GATEWAY_LOGS": "gs://serving/logs", "GATEWAY_SECONDS_BETWEEN_COPIES": "0.1"}
    with storage_server(bucket="serving") as service:
        process = start("gateway.sh", variables=variables | {"GATEWAY_STORAGE_URL": service.url})
        while len(service.keys()) < 2:
            assert process.poll() is None, finish(process)
        # Before the end, and not only at it.
        assert logged(service)["logs/2026-11-27.jsonl"] == [{"answer": 1}]
        process.terminate()
        code, _, log = finish(process)
        assert code == 0, log
        assert logged(service) == {
            "logs/2026-11-27.jsonl": [{"answer": 1}, {"answer": 2}],
            "logs/feedback/2026-11-27.jsonl": [{"rating": 5}],
        }


def test_the_container_of_the_engines_machine_is_as_closed_as_that_of_compose() -> None:
    assert not [name for name in SERVICES["engine"]["environment"] if re.search("PASSWORD|TOKEN|AUTH", name)]
    script = (INFRA / "terraform" / "scripts" / "engine-startup.sh").read_text(encoding="utf-8")
    for option in ("--read-only", "--tmpfs /tmp:exec", "--cap-drop ALL", "--security-opt no-new-privileges"):
        assert option in script
    assert os.access(REPOSITORY / "infra" / "docker" / "engine.sh", os.X_OK)
    assert "infra/docker/engine.sh" in script
