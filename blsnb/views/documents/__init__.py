"""Views as documents that need no kernel."""
