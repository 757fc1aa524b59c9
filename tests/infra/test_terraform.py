"""What Terraform makes is closed to the world, narrow in its rights, and complete."""

import re
import shutil
import subprocess
from collections import defaultdict
from ipaddress import ip_network
from typing import Any

import hcl2
import pytest

from flows.runtime.run_page import PAGES_VARIABLE
from schemas.source import REPOSITORY

TERRAFORM = REPOSITORY / "infra" / "terraform"
FILES = sorted(TERRAFORM.glob("*.tf"))
CUSTOM_ROLE = "google_project_iam_custom_role"


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


@pytest.mark.skipif(shutil.which("terraform") is None, reason="no terraform on this machine")
def test_terraform_files_are_formatted() -> None:
    done = subprocess.run(
        ["terraform", f"-chdir={TERRAFORM}", "fmt", "-check", "-recursive"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", ["state", "serving"])
def test_a_bucket_is_closed(name: str) -> None:
    bucket = blocks("resource", "google_storage_bucket")[name]
    assert bucket["uniform_bucket_level_access"] is True
    assert unquoted(bucket["public_access_prevention"]) == "enforced"


def test_the_bucket_of_the_state_is_versioned_and_never_loses_what_is_live() -> None:
    bucket = blocks("resource", "google_storage_bucket")["state"]
    assert bucket["versioning"][0]["enabled"] is True
    rules = bucket["lifecycle_rule"]
    deleting = [rule for rule in rules if unquoted(rule["action"][0]["type"]) == "Delete"]
    assert deleting
    for rule in deleting:
        assert "days_since_noncurrent_time" in rule["condition"][0]
        assert unquoted(rule["condition"][0]["with_state"]) == "ARCHIVED"


def test_accounts_have_the_roles_that_they_use_and_no_keys() -> None:
    both = {f"{CUSTOM_ROLE}.resize on project", "roles/storage.objectUser on storage_bucket"}
    assert granted() == {
        "server": both
        # Only where jobs of Vertex AI are asked for.
        | {"roles/aiplatform.user on project", "roles/iam.serviceAccountUser on service_account"},
        "l4": both
        | {
            "roles/logging.logWriter on project",
            "roles/artifactregistry.reader on artifact_registry_repository",
            "roles/secretmanager.secretAccessor on secret_manager_secret",
        },
        # None of them has a role on the bucket of the state, as the test of serving shows.
        "engine": {
            "roles/storage.objectViewer on storage_bucket",
            "roles/logging.logWriter on project",
            "roles/artifactregistry.reader on artifact_registry_repository",
        },
        "gateway": {
            "roles/storage.objectUser on storage_bucket",
            "roles/secretmanager.secretAccessor on secret_manager_secret",
        },
        "callers": {"roles/run.invoker on cloud_run_v2_service"},
        "operators": {
            "roles/compute.osAdminLogin on project",
            "roles/compute.viewer on project",
            "roles/iap.tunnelResourceAccessor on project",
            "roles/logging.viewer on project",
            "roles/iam.serviceAccountUser on service_account",
        },
    }
    accounts = blocks("resource", "google_service_account_iam_member")
    assert {name: account_of(member["service_account_id"]) for name, member in accounts.items()} == {
        "operators_log_in": "server",
        "jobs_run_as_l4": "l4",
    }
    assert blocks("resource", "google_service_account_key") == {}
    custom = blocks("resource", CUSTOM_ROLE)["resize"]["permissions"]
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


def test_people_reach_the_small_machine_alone_and_it_starts_when_packages_can_be_had() -> None:
    tunnel = blocks("resource", "google_compute_firewall")["tunnel"]
    assert [account_of(each) for each in tunnel["target_service_accounts"]] == ["server"]
    server = blocks("resource", "google_compute_instance")["server"]
    assert "google_compute_router_nat.team" in str(server["depends_on"])


def test_what_people_give_terraform_is_asked_for_once_and_kept_out_of_git() -> None:
    example = (TERRAFORM / "terraform.tfvars.example").read_text(encoding="utf-8")
    variables = blocks("variable", "")
    given = set(re.findall(r"^(\w+) += ", example, re.MULTILINE))
    needed = {name for name, body in variables.items() if "default" not in body}
    assert needed | {"operators"} == given
    assert set(re.findall(r"^#(\w+) += ", example, re.MULTILINE)) <= set(variables)
    assert "*.tfvars" in (REPOSITORY / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert "-var" not in (REPOSITORY / "infra" / "README.md").read_text(encoding="utf-8")


def test_jobs_of_vertex_ai_reach_the_servers_from_a_network_that_is_joined_to_ours() -> None:
    firewalls, address = blocks("resource", "google_compute_firewall"), "google_compute_global_address"
    joined = blocks("resource", address)["jobs"]
    text = (TERRAFORM / "vertex.tf").read_text(encoding="utf-8")
    ours = unquoted(blocks("resource", "google_compute_subnetwork")["team"]["ip_cidr_range"])
    theirs = "/".join(re.findall(r'address = "([\d.]+)", prefix_length = (\d+)', text)[0])
    assert not ip_network(theirs).overlaps(ip_network(ours))
    assert (joined["address"], joined["prefix_length"]) == ("${local.jobs.address}", "${local.jobs.prefix_length}")
    assert unquoted(joined["purpose"]) == "VPC_PEERING"
    ranges = blocks("resource", "google_service_networking_connection")["jobs"]["reserved_peering_ranges"]
    assert f"{address}.jobs" in str(ranges)
    rule = firewalls["jobs_to_servers"]
    # A rule by service accounts never matches the machines of a network that is joined.
    assert [unquoted(each) for each in rule["source_ranges"]] == ["${local.jobs.address}/${local.jobs.prefix_length}"]
    assert "source_service_accounts" not in rule
    assert rule["allow"] == firewalls["l4_to_servers"]["allow"]


def test_start_up_scripts_read_only_what_terraform_sets() -> None:
    script = (TERRAFORM / "scripts" / "l4-startup.sh").read_text(encoding="utf-8")
    metadata = blocks("resource", "google_compute_instance_template")["l4"]["metadata"]
    read = set(re.findall(r"attribute (tucano-[\w-]+)", script))
    assert read == {unquoted(name) for name in metadata if unquoted(name).startswith("tucano-")}
    assert f'--env {PAGES_VARIABLE}="$mlflow_pages"' in script
    engine = blocks("resource", "google_compute_instance")["engine"]["metadata"]
    script = (TERRAFORM / "scripts" / "engine-startup.sh").read_text(encoding="utf-8")
    read = set(re.findall(r"attribute (tucano-[\w-]+)", script))
    assert read == {unquoted(name) for name in engine if unquoted(name).startswith("tucano-")}
    assert unquoted(blocks("variable", "")["mlflow_pages"]["default"]) == "http://localhost:5000"


APIS = {
    "google_cloud_run": "run",
    "google_artifact_registry_repository": "artifactregistry",
    "google_compute": "compute",
    "google_project_iam_custom_role": "iam",
    "google_project_iam_member": "cloudresourcemanager",
    "google_secret_manager": "secretmanager",
    "google_service_account": "iam",
    "google_service_networking": "servicenetworking",
    "google_storage": "storage",
}


def test_every_api_that_is_used_is_enabled_before() -> None:
    text = "\n".join(file.read_text(encoding="utf-8") for file in FILES)
    resources = dict(re.findall(r'^resource "(\w+)" "\w+" \{$()', text, re.MULTILINE))
    services = blocks("resource", "google_project_service")["used"]["for_each"]
    enabled = set(re.findall(r'"(\w+)\.googleapis\.com"', str(services)))
    del resources["google_project_service"]
    for kind in resources:
        needed = [api for prefix, api in APIS.items() if kind.startswith(prefix)]
        assert needed, kind
        assert set(needed) <= enabled, kind
    # To write logs, and to reach a machine through the tunnel, is in a role only.
    assert {"logging", "iap"} <= enabled


def test_every_resource_waits_until_the_apis_are_enabled() -> None:
    text = "\n".join(file.read_text(encoding="utf-8") for file in FILES)
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


def test_every_variable_of_terraform_is_used_and_documented() -> None:
    text = "\n".join(file.read_text(encoding="utf-8") for file in FILES)
    for name, body in blocks("variable", "").items():
        assert body["description"], name
        assert f"var.{name}" in text, name
