"""KServe's gRPC protocol on grpcio, with the extensions of Triton."""
