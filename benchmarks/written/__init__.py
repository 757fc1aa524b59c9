"""Good and bad answers written apart from the rewards, and what rewards and ground truths say of them."""
