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
