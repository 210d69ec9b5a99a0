"""Views as HTML documents that need no kernel."""
