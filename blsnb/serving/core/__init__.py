"""Code that the HTTP and gRPC end points share.

A `RequestError` is the error of a client's request, with Triton's code and text: every
function that reads a part of a request may raise it.
"""
