"""How many instances: calibrated simulations of a repository under load."""
