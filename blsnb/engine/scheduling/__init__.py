"""Which requests are executed together, when and where."""
