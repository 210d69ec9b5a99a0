"""Model configurations as values: parsed, normalised, validated, printed."""
