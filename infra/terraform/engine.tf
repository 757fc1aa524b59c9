# An L4 that is always there and answers by vLLM: the engine of a gateway, on the small machine or on Cloud Run. On demand,
# for a Spot machine that Google takes back answers nobody.
resource "google_compute_address" "engine" {
  count = var.engine ? 1 : 0

  name         = "tucano-engine"
  subnetwork   = google_compute_subnetwork.team.id
  address_type = "INTERNAL"
  region       = var.region
}

resource "google_compute_instance" "engine" {
  count = var.engine ? 1 : 0

  name                      = "tucano-engine"
  machine_type              = "g2-standard-4"
  zone                      = var.zone
  allow_stopping_for_update = true

  # A g2-standard-4 has its L4 by its type.
  scheduling {
    provisioning_model  = "STANDARD"
    automatic_restart   = true
    on_host_maintenance = "TERMINATE"
  }

  boot_disk {
    initialize_params {
      image = "cos-cloud/cos-stable"
      type  = "pd-balanced"
      size  = 100
    }
  }

  network_interface {
    subnetwork = google_compute_subnetwork.team.id
    network_ip = google_compute_address.engine[0].address
  }

  service_account {
    email  = google_service_account.engine.email
    scopes = ["cloud-platform"]
  }

  metadata = {
    enable-oslogin         = "TRUE"
    block-project-ssh-keys = "TRUE"
    google-logging-enabled = "true"
    startup-script         = file("${path.module}/scripts/engine-startup.sh")
    tucano-image           = "${local.registry}/worker-l4:${var.image_tag}"
    tucano-weights         = "gs://${google_storage_bucket.serving[0].name}/engine"
  }

  # Its driver comes from the web.
  depends_on = [google_compute_router_nat.team]

  lifecycle {
    # A newer system is for the day on which somebody wants one.
    ignore_changes = [boot_disk[0].initialize_params[0].image]
  }
}

resource "google_artifact_registry_repository_iam_member" "engine_pulls" {
  count = var.engine ? 1 : 0

  location   = google_artifact_registry_repository.images.location
  repository = google_artifact_registry_repository.images.name
  role       = "roles/artifactregistry.reader"
  member     = google_service_account.engine.member
}

resource "google_project_iam_member" "engine_logs" {
  count = var.engine ? 1 : 0

  project = var.project
  role    = "roles/logging.logWriter"
  member  = google_service_account.engine.member
}

# vLLM asks nobody for a token: gateways reach it, and nothing else does.
resource "google_compute_firewall" "server_to_engine" {
  count = var.engine ? 1 : 0

  name                    = "tucano-server-to-engine"
  network                 = google_compute_network.team.id
  source_service_accounts = [google_service_account.server.email]
  target_service_accounts = [google_service_account.engine.email]

  allow {
    protocol = "tcp"
    ports    = ["8000"]
  }
}

resource "google_compute_firewall" "run_to_engine" {
  count = var.engine && local.on_run ? 1 : 0

  name                    = "tucano-run-to-engine"
  network                 = google_compute_network.team.id
  source_ranges           = [local.run_range]
  target_service_accounts = [google_service_account.engine.email]

  allow {
    protocol = "tcp"
    ports    = ["8000"]
  }
}
