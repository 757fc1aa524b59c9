"""Schema of prompts on two engines."""
