"""Contract of exported GGUF files with real llama.cpp, in `.venv-llama`: `make test-llama`."""
