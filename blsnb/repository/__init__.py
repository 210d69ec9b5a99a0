"""The folders of models: read, changed, exported."""
