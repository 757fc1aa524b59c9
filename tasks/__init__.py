"""How each stage works, a folder a stage; nothing here imports Prefect."""
