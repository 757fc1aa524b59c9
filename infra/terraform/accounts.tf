# Two machines, two accounts, and no key of either: each gets its credentials from its own metadata server.
resource "google_service_account" "server" {
  account_id   = "tucano-server"
  display_name = "Prefect, MLflow and the CPU worker"

  depends_on = [google_project_service.used]
}

resource "google_service_account" "l4" {
  account_id   = "tucano-l4"
  display_name = "The L4 worker"

  depends_on = [google_project_service.used]
}

# The small machine wakes the L4, and the L4 sends itself away. Google has no such role for one group, nor a condition
# on groups: both may resize any group of the project, so give this a project of its own.
resource "google_project_iam_custom_role" "resize" {
  role_id     = "tucanoResize"
  title       = "Resize instance groups"
  # The template says which image a machine would get.
  permissions = [
    "compute.instanceGroupManagers.get",
    "compute.instanceGroupManagers.update",
    "compute.instanceTemplates.get",
  ]

  depends_on = [google_project_service.used]
}

resource "google_project_iam_member" "resize" {
  for_each = {
    server = google_service_account.server.member
    l4     = google_service_account.l4.member
  }

  project = var.project
  role    = google_project_iam_custom_role.resize.id
  member  = each.value
}

# Cloud Build makes the images as this one, which reads the files of a build, writes images and logs, and nothing else.
resource "google_service_account" "build" {
  account_id   = "tucano-build"
  display_name = "Cloud Build of the images"

  depends_on = [google_project_service.used]
}

resource "google_project_iam_member" "build_logs" {
  project = var.project
  role    = "roles/logging.logWriter"
  member  = google_service_account.build.member
}

# The small machine's log is Docker's own.
resource "google_project_iam_member" "l4_logs" {
  project = var.project
  role    = "roles/logging.logWriter"
  member  = google_service_account.l4.member
}

# People reach the small machine through Google's tunnel, under their own names. The L4 they need not reach: what it says
# is in Cloud Logging.
resource "google_project_iam_member" "operators" {
  for_each = {
    for pair in setproduct(
      var.operators,
      [
        "roles/compute.osAdminLogin",
        "roles/compute.viewer",
        "roles/iap.tunnelResourceAccessor",
        "roles/logging.viewer",
      ],
    ) : join(" ", pair) => { member = pair[0], role = pair[1] }
  }

  project = var.project
  role    = each.value.role
  member  = each.value.member

  depends_on = [google_project_service.used]
}

resource "google_service_account_iam_member" "operators_log_in" {
  for_each = var.operators

  service_account_id = google_service_account.server.name
  role               = "roles/iam.serviceAccountUser"
  member             = each.value
}
