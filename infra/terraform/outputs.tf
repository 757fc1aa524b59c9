output "server_address" {
  description = "LISTEN of compose.env, and the host of both servers for the L4."
  value       = google_compute_address.server.address
}

output "l4_group" {
  description = "L4_GROUP of compose.env."
  value       = local.group_url
}

output "registry" {
  description = "Where the workers' images are pushed."
  value       = local.registry
}

output "l4_account" {
  description = "The account that a job of Vertex AI runs as."
  value       = google_service_account.l4.email
}

output "bucket" {
  description = "For --set state.mirror=gs://BUCKET/mirror and --set state.artifacts=gs://BUCKET/artifacts."
  value       = google_storage_bucket.state.name
}

output "engine_url" {
  description = "ENGINE_URL of compose.env, for the gateway of the small machine."
  value       = var.engine ? "http://${google_compute_address.engine[0].address}:8000/v1" : null
}

output "gateway_url" {
  description = "Where the gateway on Cloud Run answers, inside the network."
  value       = local.on_run ? google_cloud_run_v2_service.gateway[0].uri : null
}
