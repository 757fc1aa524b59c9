# The same training as a job of Vertex AI: a worker on the small machine submits it, and it runs as the L4's account.
resource "google_project_iam_member" "submits_jobs" {
  count = var.vertex ? 1 : 0

  project = var.project
  role    = "roles/aiplatform.user"
  member  = google_service_account.server.member
}

resource "google_service_account_iam_member" "jobs_run_as_l4" {
  count = var.vertex ? 1 : 0

  service_account_id = google_service_account.l4.name
  role               = "roles/iam.serviceAccountUser"
  member             = google_service_account.server.member
}

# Jobs run in a network of Google's own, which is joined to ours, so that they reach the servers.
locals {
  jobs = { address = "10.78.0.0", prefix_length = 16 }
}

resource "google_compute_global_address" "jobs" {
  count = var.vertex ? 1 : 0

  name          = "tucano-jobs"
  network       = google_compute_network.team.id
  purpose       = "VPC_PEERING"
  address_type  = "INTERNAL"
  address       = local.jobs.address
  prefix_length = local.jobs.prefix_length
}

resource "google_service_networking_connection" "jobs" {
  count = var.vertex ? 1 : 0

  network                 = google_compute_network.team.id
  service                 = "servicenetworking.googleapis.com"
  reserved_peering_ranges = [google_compute_global_address.jobs[0].name]

  depends_on = [google_project_service.used]
}

# By address: a rule knows accounts of its own network only.
resource "google_compute_firewall" "jobs_to_servers" {
  count = var.vertex ? 1 : 0

  name                    = "tucano-jobs-to-servers"
  network                 = google_compute_network.team.id
  source_ranges           = ["${local.jobs.address}/${local.jobs.prefix_length}"]
  target_service_accounts = [google_service_account.server.email]

  allow {
    protocol = "tcp"
    ports    = ["4200", "5000"]
  }
}
