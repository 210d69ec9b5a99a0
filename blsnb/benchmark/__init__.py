"""A model under load: requests that clients make in a closed loop, and a table."""
