"""What Terraform makes to serve is there only where asked for, closed, and started with settings that there are."""

import re
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

from schemas.config.serve import ServeConfig
from schemas.source import REPOSITORY
from tasks.serve.gateway.limits import OPEN_PATHS
from tests.infra.cloud import Cloud
from tests.infra.test_serving import served
from tests.infra.test_terraform import TERRAFORM, account_of, blocks, unquoted

SERVING = ("serving.tf", "engine.tf", "gateway.tf")


def service() -> dict[str, Any]:
    body = blocks("resource", "google_cloud_run_v2_service")["gateway"]
    assert isinstance(body, dict)
    return body


def container() -> dict[str, Any]:
    [body] = service()["template"][0]["containers"]
    assert isinstance(body, dict)
    return body


def variables_of_the_container() -> dict[str, dict[str, Any]]:
    return {unquoted(each["name"]): each for each in container()["env"]}


def test_nothing_of_it_costs_anything_where_it_is_not_asked_for() -> None:
    text = "\n".join((TERRAFORM / name).read_text(encoding="utf-8") for name in SERVING)
    resources = re.findall(r'^resource "(\w+)" "(\w+)" \{\n(.*?)^\}', text, re.MULTILINE | re.DOTALL)
    always = [(kind, name) for kind, name, body in resources if not re.match(r"  (count|for_each) +=", body)]
    # An account without a role costs nothing.
    assert always == [("google_service_account", "engine"), ("google_service_account", "gateway")]
    variables = blocks("variable", "")
    assert variables["engine"]["default"] is False
    assert str(variables["gateway_version"]["default"]) in {"None", "null"}
    assert variables["callers"]["default"] == []


def test_what_serves_reaches_none_of_the_checkpoints() -> None:
    members = blocks("resource", "google_storage_bucket_iam_member")
    on = {name: str(body["bucket"]) for name, body in members.items()}
    assert {name for name in on if "bucket.serving[0]" in on[name]} == {"server_serves", "engine_reads", "gateway_logs"}
    assert "google_service_account" in str(members["objects"])
    assert not re.search(r"google_service_account\.(engine|gateway)\b", str(members["objects"]))


def test_the_gateway_on_cloud_run_is_reached_from_the_network_by_named_callers_alone() -> None:
    assert unquoted(service()["ingress"]) == "INGRESS_TRAFFIC_INTERNAL_ONLY"
    text = (TERRAFORM / "gateway.tf").read_text(encoding="utf-8")
    assert not re.search(r"allUsers|allAuthenticatedUsers|invoker_iam_disabled", text)


def test_only_gateways_reach_the_engine_and_those_of_cloud_run_by_their_addresses() -> None:
    firewalls = blocks("resource", "google_compute_firewall")
    to_engine = {
        name: rule
        for name, rule in firewalls.items()
        if "engine" in {account_of(each) for each in rule["target_service_accounts"]}
    }
    assert set(to_engine) == {"server_to_engine", "run_to_engine"}
    assert [account_of(each) for each in to_engine["server_to_engine"]["source_service_accounts"]] == ["server"]
    for name in ("run_to_engine", "run_to_mlflow"):
        # Google lets a rule know what runs on Cloud Run by its addresses alone.
        assert firewalls[name]["source_ranges"] == ["${local.run_range}"]
        assert "source_service_accounts" not in firewalls[name]
    engine = blocks("resource", "google_compute_instance")["engine"]
    assert "access_config" not in engine["network_interface"][0]
    assert "google_compute_router_nat.team" in str(engine["depends_on"])


def test_cloud_run_has_addresses_that_nobody_else_has() -> None:
    text = "\n".join(file.read_text(encoding="utf-8") for file in TERRAFORM.glob("*.tf"))
    [run] = re.findall(r'run_range = "([\d./]+)"', text)
    jobs = "/".join(re.findall(r'address = "([\d.]+)", prefix_length = (\d+)', text)[0])
    [ours] = re.findall(r'ip_cidr_range += "([\d./]+)"', text)
    assert not any(ip_network(run).overlaps(ip_network(other)) for other in (jobs, ours))
    # Google asks for that many at least.
    assert ip_network(run).prefixlen <= 26


@pytest.mark.integration
def test_the_container_on_cloud_run_starts_with_settings_that_there_are(cloud: Cloud) -> None:
    """Only as much of Terraform as the arguments are made of is read here."""
    [with_engine] = re.findall(r"concat\((.*)\)", str(container()["args"]), re.DOTALL)
    own, engine = re.findall(r"\[(.*?)\](?:,|\s*:)", with_engine.replace("engine[0]", "engine"), re.DOTALL)
    given = re.findall(r'"([^"]*)"|(var\.gateway_version)', own)
    arguments = [text or "3" for text, _ in given]
    config = served(cloud, [Path(arguments[0]).name, *arguments[1:]])
    assert config.engine_url is None
    assert config.log_days == 2
    url = re.findall(r'"([^"]*)"', re.sub(r"\$\{[^}]*\}", "10.77.0.9", engine))
    config = served(cloud, [Path(arguments[0]).name, *arguments[1:], *url])
    assert config.engine_url == "http://10.77.0.9:8000/v1"


def test_the_container_on_cloud_run_gets_what_the_script_of_the_gateway_reads_and_secrets_by_name() -> None:
    given = variables_of_the_container()
    script = (REPOSITORY / "infra" / "docker" / "gateway.sh").read_text(encoding="utf-8")
    assert {"MLFLOW_SERVER", "GATEWAY_PROFILE", "GATEWAY_LOGS"} <= set(given) & set(
        re.findall(r"\b[A-Z_]{6,}\b", script)
    )
    for name in ("GATEWAY_TOKENS", "MLFLOW_TRACKING_PASSWORD"):
        assert "value" not in given[name]
        assert "secret_key_ref" in str(given[name]["value_source"])
    assert unquoted(given["MLFLOW_TRACKING_USERNAME"]["value"]) == "gateway"


def test_cloud_run_asks_for_health_without_a_token_and_waits_as_long_as_it_may() -> None:
    startup, liveness = container()["startup_probe"][0], container()["liveness_probe"][0]
    for probe in (startup, liveness):
        assert unquoted(probe["http_get"][0]["path"]) in OPEN_PATHS
        assert probe["http_get"][0]["port"] == ServeConfig().port
    # Google refuses more.
    assert startup["period_seconds"] * startup["failure_threshold"] <= 240
    template = service()["template"][0]
    assert float(unquoted(template["timeout"]).removesuffix("s")) > ServeConfig().deadline_seconds
    assert template["max_instance_request_concurrency"] == ServeConfig().concurrency + ServeConfig().queue


def test_cloud_run_reads_the_artifacts_where_the_gateway_looks_for_them() -> None:
    [mount] = container()["volume_mounts"]
    assert unquoted(mount["mount_path"]) == "/state/artifacts"
    [volume] = service()["template"][0]["volumes"]
    assert volume["gcs"][0]["read_only"] is True
    assert "GATEWAY_STATE:-/state" in (REPOSITORY / "infra" / "docker" / "gateway.sh").read_text(encoding="utf-8")
    # The log, which is written, is elsewhere.
    assert unquoted(variables_of_the_container()["GATEWAY_LOGS"]["value"]).endswith("/logs")
