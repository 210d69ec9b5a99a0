"""KServe's HTTP protocol on tornado, with the extensions of Triton."""
