"""Step time of our trainer and of TRL's."""
