"""Work of each stage, one folder per stage; nothing here imports Prefect."""
