"""Ground of every flow: session, console, signals, and the talk with Prefect's server."""
