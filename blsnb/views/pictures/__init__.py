"""Pictures for readers without scripts."""
