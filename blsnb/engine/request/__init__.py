"""Requests in flight: opened, validated, waited for, interrupted, completed."""
