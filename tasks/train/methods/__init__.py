"""Methods of the papers, one a file: advantages, rewards, sampling and weights."""
