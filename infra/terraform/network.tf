# No machine has a public address: people come through Google's tunnel, packages and models through NAT.
resource "google_compute_network" "team" {
  name                    = "tucano"
  auto_create_subnetworks = false

  depends_on = [google_project_service.used]
}

resource "google_compute_subnetwork" "team" {
  name                     = "tucano"
  network                  = google_compute_network.team.id
  region                   = var.region
  ip_cidr_range            = "10.77.0.0/24"
  private_ip_google_access = true
}

resource "google_compute_router" "team" {
  name    = "tucano"
  network = google_compute_network.team.id
  region  = var.region
}

resource "google_compute_router_nat" "team" {
  name                               = "tucano"
  router                             = google_compute_router.team.name
  region                             = var.region
  nat_ip_allocate_option             = "AUTO_ONLY"
  source_subnetwork_ip_ranges_to_nat = "ALL_SUBNETWORKS_ALL_IP_RANGES"
}

resource "google_compute_firewall" "l4_to_servers" {
  name                    = "tucano-l4-to-servers"
  network                 = google_compute_network.team.id
  source_service_accounts = [google_service_account.l4.email]
  target_service_accounts = [google_service_account.server.email]

  allow {
    protocol = "tcp"
    ports    = ["4200", "5000"]
  }
}

resource "google_compute_firewall" "tunnel" {
  name    = "tucano-tunnel"
  network = google_compute_network.team.id
  # The addresses of Google's Identity-Aware Proxy.
  source_ranges           = ["35.235.240.0/20"]
  target_service_accounts = [google_service_account.server.email]

  allow {
    protocol = "tcp"
    ports    = ["22"]
  }
}
