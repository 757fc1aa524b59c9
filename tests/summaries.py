"""Summaries of prompts and of a dataset, to change what a test is about."""

from typing import Final

from schemas.tables.summaries import DatasetSummary, PromptsSummary, StoreSize

PROMPTS_SUMMARY: Final = PromptsSummary(
    source="simulated",
    seed=7,
    store=StoreSize(orders=3, reviews=3, products=2),
    asked={"push": 3, "churn": 0},
    made={"push": 3, "churn": 0},
    minority_floor=500,
    minorities={"push": 3},
    warnings=["fewer than 500 prompts of push (3)"],
)
DATASET_SUMMARY: Final = DatasetSummary(
    split_seed=42,
    held_out_share=0.25,
    train=119,
    validation=12,
    test=24,
    quarantined=2,
    tasks={"push": {"train": 119, "validation": 12, "test": 24}},
    reasons={"schema": {"unknown": 2}, "known to base": {}},
    scrubbed={"CPF": 3, "EMAIL": 0},
    sources={"simulated": 155},
    general=None,
)
