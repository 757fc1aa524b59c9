# The secrets' names only. Their values are put in by hand (infra/README.md), so that Terraform's state holds none.
resource "google_secret_manager_secret" "team" {
  for_each = toset(["tucano-prefect-auth", "tucano-mlflow-password"])

  secret_id = each.value

  replication {
    user_managed {
      replicas {
        location = var.region
      }
    }
  }

  depends_on = [google_project_service.used]
}

resource "google_secret_manager_secret_iam_member" "l4_reads" {
  for_each = google_secret_manager_secret.team

  secret_id = each.value.id
  role      = "roles/secretmanager.secretAccessor"
  member    = google_service_account.l4.member
}
