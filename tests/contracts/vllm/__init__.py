"""Contract with the pinned vLLM, without a GPU: `make test-vllm` runs it."""
