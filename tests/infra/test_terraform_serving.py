"""What Terraform makes to serve is there only where asked for, closed, and started with settings that there are."""

import re
from typing import Any

from tests.infra.test_terraform import TERRAFORM, account_of, blocks, unquoted


def service() -> dict[str, Any]:
    body = blocks("resource", "google_cloud_run_v2_service")["gateway"]
    assert isinstance(body, dict)
    return body


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
