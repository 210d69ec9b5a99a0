"""Twelve plans beside a real server: predicted latencies and measured ones."""
