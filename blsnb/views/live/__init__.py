"""Views that are connected to a kernel."""
