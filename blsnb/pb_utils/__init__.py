"""What a model author imports as triton_python_backend_utils."""
