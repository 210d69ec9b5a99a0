"""A live server behind KServe's HTTP and gRPC interfaces."""
