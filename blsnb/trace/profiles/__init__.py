"""Profiles of model code: where the time of a call goes."""
