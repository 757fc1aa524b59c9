resource "google_project_service" "used" {
  for_each = toset(concat(
    [
      "artifactregistry.googleapis.com",
      "cloudbuild.googleapis.com",
      "cloudresourcemanager.googleapis.com",
      "compute.googleapis.com",
      "iam.googleapis.com",
      "iap.googleapis.com",
      "logging.googleapis.com",
      "secretmanager.googleapis.com",
      "serviceusage.googleapis.com",
      "storage.googleapis.com",
    ],
    var.vertex ? ["aiplatform.googleapis.com", "servicenetworking.googleapis.com"] : [],
    local.on_run ? ["run.googleapis.com"] : [],
  ))

  service            = each.value
  disable_on_destroy = false
}
