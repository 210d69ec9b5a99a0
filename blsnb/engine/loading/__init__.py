"""From a model's folder to versions that serve: loads, by whom and when."""
