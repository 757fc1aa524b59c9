"""Contract with the tokenizers and chat templates that Tucano2's authors publish the recipes of."""
