"""Work pools, deployments and automations of a team's Prefect server: `tucano infra`."""
