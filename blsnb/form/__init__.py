"""A form to try a model: what is entered for each input becomes a request."""
