"""Language model as a judge of insights, beside the rewards and without a say in the gate."""
