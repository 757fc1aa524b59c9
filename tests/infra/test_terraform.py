"""The machines and buckets that Terraform makes are closed to the world, narrow in their rights, and complete."""

import re
from collections import defaultdict
from typing import Any

import hcl2

from flows.runtime.runs import PAGES_VARIABLE
from schemas import timeouts
from schemas.config.profiles import known_profiles, load_config
from schemas.source import REPOSITORY
from tests.cases import cases_of

TERRAFORM = REPOSITORY / "infra" / "terraform"
FILES = sorted(TERRAFORM.glob("*.tf"))
CUSTOM_ROLE = "google_project_iam_custom_role"
ROLES = cases_of(__file__)["accounts_have_the_roles_that_they_use"]


def blocks(sort: str, kind: str) -> dict[str, Any]:
    """Return the resources of a kind, or all variables, of all Terraform files, by name."""
    found: dict[str, Any] = {}
    for file in FILES:
        for block in hcl2.loads(file.read_text(encoding="utf-8")).get(sort, []):
            for label, body in block.items():
                named = body if sort == "resource" else {label: body}
                if sort == "variable" or unquoted(label) == kind:
                    found |= {unquoted(key): value for key, value in named.items()}
    return found


def account_of(reference: Any) -> str:
    """Return the name of the service account that a value of Terraform's refers to."""
    account = re.search(r"google_service_account\.(\w+)\.", str(reference))
    assert account is not None, reference
    return account[1]


def unquoted(label: str) -> str:
    return label.strip('"')


def granted() -> dict[str, set[str]]:
    """Return the roles that the Terraform files give, by who gets them."""
    text = "\n".join(file.read_text(encoding="utf-8") for file in FILES)
    kinds = set(re.findall(r'^resource "(google_\w+_iam_\w+)"', text, re.MULTILINE)) - {CUSTOM_ROLE}
    # A binding or a policy would take away what is not in these files.
    assert [kind for kind in kinds if not kind.endswith("_member")] == []
    roles: dict[str, set[str]] = defaultdict(set)
    for kind in kinds:
        on = kind.removeprefix("google_").removesuffix("_iam_member")
        for name, body in blocks("resource", kind).items():
            who = re.findall(r"google_service_account\.(\w+)\.member\b|var\.(operators|callers)\b", str(body))
            what = re.findall(rf"roles/[\w.]+|{CUSTOM_ROLE}\.\w+", str(body))
            assert who, (kind, name)
            assert what, (kind, name)
            for account, people in who:
                roles[account or people] |= {f"{role} on {on}" for role in what}
    return roles


def test_buckets_are_closed_and_that_of_the_state_never_loses_what_is_live() -> None:
    buckets = blocks("resource", "google_storage_bucket")
    for name in ("state", "serving"):
        assert buckets[name]["uniform_bucket_level_access"] is True
        assert unquoted(buckets[name]["public_access_prevention"]) == "enforced"
    assert buckets["state"]["versioning"][0]["enabled"] is True
    rules = buckets["state"]["lifecycle_rule"]
    deleting = [rule["condition"][0] for rule in rules if unquoted(rule["action"][0]["type"]) == "Delete"]
    assert deleting
    for condition in deleting:
        assert "days_since_noncurrent_time" in condition
        assert unquoted(condition["with_state"]) == "ARCHIVED"


def test_accounts_have_the_roles_that_they_use_and_no_keys() -> None:
    # The server submits jobs only where those of Vertex AI are asked for. Neither of those that serve has a role on the
    # bucket of the state, as the test of serving shows, and a build reads that of its own files alone.
    assert granted() == {who: set(roles) for who, roles in ROLES.items()}
    accounts = blocks("resource", "google_service_account_iam_member")
    assert {name: account_of(member["service_account_id"]) for name, member in accounts.items()} == {
        "operators_log_in": "server",
        "jobs_run_as_l4": "l4",
    }
    assert blocks("resource", "google_service_account_key") == {}
    custom = blocks("resource", CUSTOM_ROLE)["resize"]["permissions"]
    assert {unquoted(name).removeprefix("compute.") for name in custom} == {
        *("instanceGroupManagers.get", "instanceGroupManagers.update", "instanceTemplates.get")
    }


def test_terraforms_state_holds_no_secret() -> None:
    assert blocks("resource", "google_secret_manager_secret")
    assert blocks("resource", "google_secret_manager_secret_version") == {}
    assert not [name for name in blocks("variable", "") if re.search("password|secret|auth", name)]


def test_start_up_scripts_read_only_the_values_that_terraform_sets() -> None:
    template = blocks("resource", "google_compute_instance_template")["l4"]
    engine = blocks("resource", "google_compute_instance")["engine"]
    for machine, file in ((template, "l4-startup.sh"), (engine, "engine-startup.sh")):
        script = (TERRAFORM / "scripts" / file).read_text(encoding="utf-8")
        given = {unquoted(name) for name in machine["metadata"] if unquoted(name).startswith("tucano-")}
        assert set(re.findall(r"attribute (tucano-[\w-]+)", script)) == given
        for option in (f'--env {PAGES_VARIABLE}="$mlflow_pages"', '--env HF_TOKEN_SECRET="$hub_secret"'):
            assert (option in script) == (machine is template)
    assert unquoted(blocks("variable", "")["mlflow_pages"]["default"]) == "http://localhost:5000"


def test_each_process_has_ended_before_what_would_end_it() -> None:
    """A child before its parent kills it, that before Docker does, and that before the machine is off."""
    script = (TERRAFORM / "scripts" / "l4-startup.sh").read_text(encoding="utf-8")
    (container,) = map(float, re.findall(r"--stop-timeout (\d+)", script))
    assert container == timeouts.CONTAINER_SECONDS
    child, parent = timeouts.CHILD_SECONDS, timeouts.PARENT_SECONDS
    assert child < parent < parent + timeouts.AFTER_CHILD_SECONDS < container < timeouts.MACHINE_SECONDS
    assert container > timeouts.COMMAND_SECONDS
    # All of them where the machine's announcement comes before the signal, by as much as its template asks for.
    (named,) = hcl2.loads((TERRAFORM / "l4.tf").read_text(encoding="utf-8"))["locals"]
    scheduling = blocks("resource", "google_compute_instance_template")["l4"]["scheduling"]
    assert "preemption_notice_duration" in str(scheduling)
    for profile in (name for name in known_profiles() if name.startswith("l4")):
        given = load_config(profile).train.preemption
        assert given.notice_seconds == named["notice"] == timeouts.NOTICE_SECONDS, profile
        assert given.seconds < timeouts.NOTICE_SECONDS - timeouts.NOTICE_RESERVE_SECONDS


def test_an_l4_comes_from_any_zone_of_a_region_of_the_european_union_by_an_image_of_a_commit() -> None:
    variables = {name: body.get("default") for name, body in blocks("variable", "").items()}
    region = unquoted(variables["region"])
    assert region.startswith("europe-")
    zones = [unquoted(zone) for zone in variables["l4_zones"]]
    assert len(zones) > 1
    assert {zone.rpartition("-")[0] for zone in [*zones, unquoted(variables["zone"])]} == {region}
    # A tag such as `latest` would say nothing of what a machine gets.
    assert variables["image_tag"] is None
    # Without these two Google spreads machines evenly, and waits for a zone that has none.
    group = blocks("resource", "google_compute_region_instance_group_manager")["l4"]
    assert unquoted(group["distribution_policy_zones"]) == "${var.l4_zones}"
    assert unquoted(group["distribution_policy_target_shape"]) == "ANY"
    assert unquoted(group["update_policy"][0]["instance_redistribution_type"]) == "NONE"


def test_a_machine_that_serves_reaches_none_of_the_checkpoints() -> None:
    members = blocks("resource", "google_storage_bucket_iam_member")
    on = {name: str(body["bucket"]) for name, body in members.items()}
    assert "bucket.builds" in on["build_reads"]
    assert {name for name in on if "bucket.serving[0]" in on[name]} == {"server_serves", "engine_reads", "gateway_logs"}
    assert "google_service_account" in str(members["objects"])
    assert not re.search(r"google_service_account\.(engine|gateway)\b", str(members["objects"]))


def test_the_gateway_on_cloud_run_is_reached_from_the_network_by_named_callers_alone() -> None:
    service = blocks("resource", "google_cloud_run_v2_service")["gateway"]
    assert unquoted(service["ingress"]) == "INGRESS_TRAFFIC_INTERNAL_ONLY"
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
