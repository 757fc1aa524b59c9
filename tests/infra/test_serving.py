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
from schemas.source import REPOSITORY
from tasks.serve.engines.vllm import vllm_command
from tasks.serve.gateway.limits import OPEN_PATHS, read_tokens
from tasks.serve.served_model import CHAMPION
from tests.infra.cloud import Cloud, environment, finish, operating_system, start
from tests.storage_server import StorageServer, storage_server

INFRA = REPOSITORY / "infra"
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load((INFRA / "compose.yaml").read_text(encoding="utf-8"))["services"]
GATEWAYS = ("gateway", "gateway-to-engine")
ENGINE_URL = "http://engine:8000/v1"
TEMPORARY = "/tmp"  # noqa: S108 - in a container, its own memory
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
    state = cloud.log.parent / "state"
    variables |= {"MLFLOW_SERVER": "http://mlflow:5000", "GATEWAY_STATE": str(state)}
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
def test_a_gateways_container_serves_other_machines_and_asks_them_for_a_token(cloud: Cloud, service: str) -> None:
    first, *others = command_of(service)
    config = served(cloud, [Path(first).name, *others])
    assert not config.is_on_loopback
    assert config.token_variable is not None
    assert config.token_variable in SERVICES[service]["environment"]
    assert config.engine_url == (None if service == "gateway" else ENGINE_URL)
    assert SERVICES[service]["ports"] == ["${LISTEN:-127.0.0.1}:8080:8080"]
    assert config.port == 8080


def test_a_gateway_without_a_token_would_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compose demands none, for it would demand it of those too who do not serve."""
    for service in GATEWAYS:
        assert SERVICES[service]["environment"]["GATEWAY_TOKENS"] == "${GATEWAY_TOKENS:-}"
    monkeypatch.setenv("GATEWAY_TOKENS", "")
    with pytest.raises(Exception, match="the environment variable GATEWAY_TOKENS holds no token"):
        read_tokens("GATEWAY_TOKENS")


@pytest.mark.parametrize("service", [*GATEWAYS, "engine"])
def test_what_serves_can_write_nothing_but_what_is_its_own(service: str) -> None:
    container = SERVICES[service]
    assert (container["read_only"], container["user"], container["init"]) == (True, "1000", True)
    assert container["cap_drop"] == ["ALL"]
    assert container["security_opt"] == ["no-new-privileges:true"]
    assert container["restart"] == "unless-stopped"
    assert "privileged" not in container
    written = {volume for volume in container["volumes"] if not volume.endswith(":ro")}
    assert written == ({"logs:/state/logs"} if service in GATEWAYS else set())
    # Whoever monitors reads the log, and changes none of it.
    assert "logs:/state/logs:ro" in SERVICES["worker"]["volumes"]


def test_what_a_gateway_writes_in_the_workers_volume_is_mounted_over_folders_that_are_there() -> None:
    """In a volume that is mounted to be read, no folder can be made to mount on."""
    mounted = {*SERVICES["gateway"]["tmpfs"], "/state/logs"} - {TEMPORARY}
    image = (INFRA / "docker" / "worker-cpu.Dockerfile").read_text(encoding="utf-8")
    made = re.search(r"install --directory --owner tucano (.+)", image)
    assert made is not None
    assert mounted <= set(made[1].split())
    assert SERVICES["gateway"]["image"] == SERVICES["worker"]["image"]


def test_a_gateway_reads_mlflow_as_a_user_that_changes_nothing_and_has_no_other_password() -> None:
    for service in GATEWAYS:
        given = SERVICES[service]["environment"]
        assert given["MLFLOW_TRACKING_USERNAME"] == "gateway"
        assert given["MLFLOW_TRACKING_PASSWORD"] == SERVICES["mlflow"]["environment"]["MLFLOW_GATEWAY_PASSWORD"]
        # With Prefect's, whoever takes it over could run what he likes on the workers.
        assert not [name for name in given if name.startswith("PREFECT")]
    assert not [name for name in SERVICES["engine"]["environment"] if re.search("PASSWORD|TOKEN|AUTH", name)]


def test_nothing_serves_unless_asked_to_and_one_gateway_alone_then() -> None:
    profiles = {service: set(SERVICES[service]["profiles"]) for service in (*GATEWAYS, "engine")}
    assert profiles["gateway"].isdisjoint(profiles["gateway-to-engine"])
    # Each engine has its gateway, and an engine elsewhere needs none here.
    assert profiles["engine"] < profiles["gateway-to-engine"]
    assert SERVICES["gateway-to-engine"]["depends_on"]["engine"] == {"condition": "service_healthy", "required": False}
    assert {"l4", "vertex"}.isdisjoint(set.union(*profiles.values()))


def test_health_is_asked_where_it_is_told_to_who_has_no_token() -> None:
    for service in GATEWAYS:
        path = re.search(r"127\.0\.0\.1:8080(/\w+)", str(SERVICES[service]["healthcheck"]["test"]))
        assert path is not None
        assert path[1] in OPEN_PATHS
    grace = float(SERVICES["gateway"]["stop_grace_period"].removesuffix("s"))
    assert grace > ServeConfig().deadline_seconds


def test_the_engine_gets_the_one_gpu_and_no_port_of_the_machine() -> None:
    engine = SERVICES["engine"]
    [device] = engine["deploy"]["resources"]["reservations"]["devices"]
    assert device == {"driver": "nvidia", "count": 1, "capabilities": ["gpu"]}
    assert "ports" not in engine
    # What Triton compiles is loaded from there.
    assert engine["tmpfs"] == [f"{TEMPORARY}:exec"]
    assert engine["environment"]["HOME"] == TEMPORARY


@pytest.mark.integration
def test_the_engine_answers_by_the_name_and_at_the_address_that_gateways_ask(cloud: Cloud) -> None:
    variables = with_command(cloud, "interpreter", SAYS_ITS_ARGUMENTS)
    interpreter = Path(variables["PATH"].partition(":")[0]) / "interpreter"
    weights = cloud.log.parent / "weights"
    weights.mkdir()
    variables["ENGINE_INTERPRETER"] = str(interpreter)
    code, _, log = finish(start("engine.sh", str(weights), variables=variables))
    assert code == 2
    assert "has no config.json; give a folder of merged weights" in log
    (weights / "config.json").write_text("{}", encoding="utf-8")
    code, out, log = finish(start("engine.sh", str(weights), "--dtype", "bfloat16", variables=variables))
    assert code == 0, log
    said = out.splitlines()
    # As the gateway starts its own, but for the address.
    own = vllm_command(interpreter, weights, {}, Path("socket"), ())
    assert said[:6] == own[1:7]
    options = dict(zip(said[::2], said[1::2], strict=True))
    assert options["--served-model-name"] == CHAMPION
    assert options["--dtype"] == "bfloat16"
    assert f"http://engine:{options['--port']}/v1" == ENGINE_URL
    assert options["--host"] == "0.0.0.0"  # noqa: S104 - of a container without a port of the machine
    # vLLM is in this environment of the image.
    image = (INFRA / "docker" / "worker-l4.Dockerfile").read_text(encoding="utf-8")
    assert "python -m venv /opt/trainer" in image
    assert "ENGINE_INTERPRETER:-/opt/trainer/bin/python" in (INFRA / "docker" / "engine.sh").read_text(encoding="utf-8")


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
    assert found == {
        "config.json": "engine/config.json",
        "parts/model.safetensors": "engine/parts/model.safetensors",
    }


def logged(service: StorageServer) -> dict[str, list[Any]]:
    """Return the lines of each file of a bucket, by its name without what is the container's own."""
    own = re.compile(r"-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(?=\.jsonl$)")
    with service.lock:
        files = {
            key: bytes(service.storage.get_file(service.bucket, key)) for key in service.storage.objects["serving"]
        }
    assert all(own.search(key) for key in files)
    return {own.sub("", key): [json.loads(line) for line in files[key].splitlines()] for key in files}


@needs_curl
@pytest.mark.integration
def test_where_no_disk_lasts_the_log_is_in_the_bucket_before_the_container_ends(cloud: Cloud) -> None:
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


@needs_curl
@pytest.mark.integration
def test_a_gateway_that_ends_before_its_container_looks_gives_its_own_code(cloud: Cloud) -> None:
    """Once the container ended with 143: the code of its wait, which a signal broke off."""
    variables = with_command(cloud, "tucano", ANSWERS)
    with storage_server(bucket="serving") as service:
        variables |= {"GATEWAY_LOGS": "gs://serving/logs", "GATEWAY_STORAGE_URL": service.url}
        # Bash takes a function of this name for its own command: the gateway has ended when the trap returns.
        variables["BASH_FUNC_kill%%"] = '() { builtin kill "$@" && sleep 0.5; }'
        process = start("gateway.sh", variables=variables)
        log_file = Path(variables["GATEWAY_STATE"]) / "logs" / "2026-11-27.jsonl"
        while not log_file.exists():
            assert process.poll() is None, finish(process)
        process.terminate()
        code, _, log = finish(process)
    assert code == 0, log


@needs_curl
@pytest.mark.integration
def test_a_log_that_cannot_be_copied_is_tried_again_and_in_the_end_said_to_be_lost(cloud: Cloud) -> None:
    variables = with_command(cloud, "tucano", ANSWERS)
    variables |= {"GATEWAY_LOGS": "gs://nowhere/logs", "GATEWAY_SECONDS_BETWEEN_COPIES": "0.1"}
    with storage_server(bucket="serving") as service:
        process = start("gateway.sh", variables=variables | {"GATEWAY_STORAGE_URL": service.url})
        assert process.stderr is not None
        while "could not be copied to gs://nowhere/logs; trying again" not in process.stderr.readline():
            assert process.poll() is None
        process.terminate()
        code, _, log = finish(process)
    assert code == 1
    assert "the last lines of the log could not be copied to gs://nowhere/logs, and are lost" in log


@needs_curl
@pytest.mark.integration
@pytest.mark.parametrize("logs", [None, "gs://serving/logs"], ids=["disk", "bucket"])
def test_a_users_mistake_ends_the_container_with_its_own_code(cloud: Cloud, logs: str | None) -> None:
    variables = with_command(cloud, "tucano", "#!/usr/bin/env bash\nexit 2\n")
    with storage_server(bucket="serving") as service:
        variables |= {"GATEWAY_LOGS": logs, "GATEWAY_STORAGE_URL": service.url} if logs else {}
        code, _, log = finish(start("gateway.sh", variables=variables))
    assert code == 2, log


@pytest.mark.integration
@pytest.mark.parametrize(("driver", "does"), [("580.95.05", True), ("575.1", False)], ids=["new", "old"])
def test_the_machine_of_the_engine_starts_it_by_the_driver_that_cuda_needs(
    cloud: Cloud, driver: str, does: bool
) -> None:
    script = INFRA / "terraform" / "scripts" / "engine-startup.sh"
    code, _, log = finish(start(str(script), variables=operating_system(cloud, driver)))
    assert (code == 0) is does, log
    done = [line for line in cloud.lines() if line.startswith("docker ")]
    assert done == (["docker pull", "docker rm", "docker run"] if does else [])
    assert does or "CUDA 13 needs 580 or newer" in log


def test_the_container_of_the_engines_machine_is_as_closed_as_that_of_compose() -> None:
    script = (INFRA / "terraform" / "scripts" / "engine-startup.sh").read_text(encoding="utf-8")
    for option in ("--read-only", "--tmpfs /tmp:exec", "--cap-drop ALL", "--security-opt no-new-privileges"):
        assert option in script
    assert os.access(REPOSITORY / "infra" / "docker" / "engine.sh", os.X_OK)
    assert "infra/docker/engine.sh" in script
