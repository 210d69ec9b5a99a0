"""Watch real Triton servers: receive their spans, list requests, set their tracing."""
