"""Static analysis of a repository: models and their possible calls."""
