# One L4, or none: a group of size 0 that the small machine sets to 1 when a training waits, and that the L4 itself sets
# to 0 when none does. A machine that Google takes back while the size is 1 is replaced by the group, in any zone that
# has one. Where the variable allows it, a second group brings one on demand.
locals {
  registry = "${var.region}-docker.pkg.dev/${var.project}/${google_artifact_registry_repository.images.repository_id}"
  groups   = merge({ spot = "tucano-l4" }, var.on_demand ? { on_demand = "tucano-l4-on-demand" } : {})
  group_urls = {
    for kind, name in local.groups :
    kind => "projects/${var.project}/regions/${var.region}/instanceGroupManagers/${name}"
  }
  # Seconds; `NOTICE_SECONDS` of schemas/timeouts.py, and the profiles' train.preemption.notice_seconds.
  notice = 120
}

resource "google_compute_instance_template" "l4" {
  for_each = local.groups
  # The other provider has no `preemption_notice_duration`, by its 7.45.0.
  provider = google-beta

  name_prefix  = "${each.value}-"
  machine_type = "g2-standard-4"
  region       = var.region

  # A g2-standard-4 has its L4 by its type.
  scheduling {
    provisioning_model          = each.key == "spot" ? "SPOT" : "STANDARD"
    preemptible                 = each.key == "spot"
    automatic_restart           = each.key != "spot"
    on_host_maintenance         = "TERMINATE"
    instance_termination_action = each.key == "spot" ? "STOP" : null

    # From the metadata server's word to the end that the system notices.
    dynamic "preemption_notice_duration" {
      for_each = each.key == "spot" ? [local.notice] : []

      content {
        seconds = preemption_notice_duration.value
      }
    }
  }

  disk {
    source_image = "cos-cloud/cos-stable"
    boot         = true
    auto_delete  = true
    disk_type    = "pd-balanced"
    disk_size_gb = 100
  }

  network_interface {
    subnetwork = google_compute_subnetwork.team.id
  }

  service_account {
    email  = google_service_account.l4.email
    scopes = ["cloud-platform"]
  }

  metadata = {
    enable-oslogin         = "TRUE"
    block-project-ssh-keys = "TRUE"
    google-logging-enabled = "true"
    startup-script         = file("${path.module}/scripts/l4-startup.sh")
    tucano-image           = "${local.registry}/worker-l4:${var.image_tag}"
    tucano-group           = local.group_urls[each.key]
    tucano-prefect         = "http://${google_compute_address.server.address}:4200/api"
    tucano-prefect-secret  = "${google_secret_manager_secret.team["tucano-prefect-auth"].id}/versions/latest"
    tucano-mlflow-secret   = "${google_secret_manager_secret.team["tucano-mlflow-password"].id}/versions/latest"
    tucano-mlflow-pages    = var.mlflow_pages
    # Empty where no secret is asked for.
    tucano-hub-secret = join("", [for secret in google_secret_manager_secret.hub : "${secret.id}/versions/latest"])
  }

  lifecycle {
    create_before_destroy = true
  }
}

resource "google_compute_region_instance_group_manager" "l4" {
  for_each = local.groups

  name               = each.value
  region             = var.region
  base_instance_name = each.value
  target_size        = 0

  # In whichever zone has one.
  distribution_policy_zones        = var.l4_zones
  distribution_policy_target_shape = "ANY"

  version {
    instance_template = google_compute_instance_template.l4[each.key].self_link_unique
  }

  # A new image or template is for the next machine; a training under way keeps its own.
  update_policy {
    type                         = "OPPORTUNISTIC"
    minimal_action               = "REPLACE"
    replacement_method           = "RECREATE"
    instance_redistribution_type = "NONE"
    max_surge_fixed              = 0
    # Of a group over several zones Google wants one a zone or more.
    max_unavailable_fixed = length(var.l4_zones)
  }

  lifecycle {
    # Its size is the machines' own business.
    ignore_changes = [target_size]
  }
}
