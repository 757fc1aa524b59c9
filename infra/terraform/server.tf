# The machine that is always there: compose.yaml is started on it by hand (infra/README.md).
resource "google_compute_address" "server" {
  name         = "tucano-server"
  subnetwork   = google_compute_subnetwork.team.id
  address_type = "INTERNAL"
  region       = var.region
}

resource "google_compute_instance" "server" {
  name                      = "tucano-server"
  machine_type              = var.server_machine_type
  zone                      = var.zone
  allow_stopping_for_update = true
  deletion_protection       = true

  boot_disk {
    initialize_params {
      image = "ubuntu-os-cloud/ubuntu-2404-lts-amd64"
      type  = "pd-balanced"
      size  = 50
    }
  }

  network_interface {
    subnetwork = google_compute_subnetwork.team.id
    network_ip = google_compute_address.server.address
  }

  service_account {
    email  = google_service_account.server.email
    scopes = ["cloud-platform"]
  }

  shielded_instance_config {
    enable_secure_boot = true
  }

  metadata = {
    enable-oslogin         = "TRUE"
    block-project-ssh-keys = "TRUE"
    startup-script         = file("${path.module}/scripts/server-startup.sh")
  }

  # Its first start installs packages.
  depends_on = [google_compute_router_nat.team]

  lifecycle {
    # A newer image would mean another machine, and this one holds the databases.
    ignore_changes = [boot_disk[0].initialize_params[0].image]
  }
}
