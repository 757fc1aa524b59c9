"""Base against tuned on the test split: answers, paired statistics, the promotion gate and the report."""
