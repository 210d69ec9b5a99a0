"""What a search found for a load, as text, applied to the models."""
