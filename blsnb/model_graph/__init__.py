"""The models of a repository and which may call which, found without running them."""
