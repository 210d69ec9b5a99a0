"""HTTP: KServe's protocol on tornado, with the extensions of Triton."""
