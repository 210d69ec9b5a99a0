"""A live server behind KServe's HTTP and gRPC interfaces."""

from blsnb.serving.endpoints import Endpoints, serve

__all__ = ["Endpoints", "serve"]
