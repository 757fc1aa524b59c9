"""A small pretrained chat model from the package index, converted for the profile `real`."""
