"""What you see; reads the trace, knows no engine."""
