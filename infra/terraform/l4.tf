# One Spot L4, or none: a group of size 0 that the small machine sets to 1 when a training waits, and that the L4 itself
# sets to 0 when none does. A machine that Google takes back while the size is 1 is replaced by the group.
locals {
  registry  = "${var.region}-docker.pkg.dev/${var.project}/${google_artifact_registry_repository.images.repository_id}"
  group     = "tucano-l4"
  group_url = "projects/${var.project}/zones/${var.zone}/instanceGroupManagers/${local.group}"
}

resource "google_compute_instance_template" "l4" {
  name_prefix  = "tucano-l4-"
  machine_type = "g2-standard-4"
  region       = var.region

  # A g2-standard-4 has its L4 by its type.
  scheduling {
    provisioning_model          = "SPOT"
    preemptible                 = true
    automatic_restart           = false
    on_host_maintenance         = "TERMINATE"
    instance_termination_action = "STOP"
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
    tucano-group           = local.group_url
    tucano-prefect         = "http://${google_compute_address.server.address}:4200/api"
    tucano-prefect-secret  = "${google_secret_manager_secret.team["tucano-prefect-auth"].id}/versions/latest"
    tucano-mlflow-secret   = "${google_secret_manager_secret.team["tucano-mlflow-password"].id}/versions/latest"
    tucano-mlflow-pages    = var.mlflow_pages
  }

  lifecycle {
    create_before_destroy = true
  }
}

resource "google_compute_instance_group_manager" "l4" {
  name               = local.group
  zone               = var.zone
  base_instance_name = "tucano-l4"
  target_size        = 0

  version {
    instance_template = google_compute_instance_template.l4.self_link_unique
  }

  # A new image or template is for the next machine; a training under way keeps its own.
  update_policy {
    type                  = "OPPORTUNISTIC"
    minimal_action        = "REPLACE"
    replacement_method    = "RECREATE"
    max_surge_fixed       = 0
    max_unavailable_fixed = 1
  }

  lifecycle {
    # Its size is the machines' own business.
    ignore_changes = [target_size]
  }
}
