"""Speed of the rewards."""
