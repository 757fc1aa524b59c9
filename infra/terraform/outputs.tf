output "server_address" {
  description = "LISTEN of compose.env, and the host of both servers for the L4."
  value       = google_compute_address.server.address
}

output "l4_group" {
  description = "L4_GROUP of compose.env."
  value       = local.group_urls["spot"]
}

output "l4_group_on_demand" {
  description = "L4_GROUP_ON_DEMAND of compose.env; none where on_demand is false."
  value       = lookup(local.group_urls, "on_demand", null)
}

output "build_account" {
  description = "The account that Cloud Build builds the images as."
  value       = google_service_account.build.id
}

output "build_source" {
  description = "Where Cloud Build finds the files of a build, for a day."
  value       = "gs://${google_storage_bucket.builds.name}/source"
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
