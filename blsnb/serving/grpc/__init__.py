"""gRPC: KServe's protocol on grpcio, with the extensions of Triton."""
