"""The recorder of a production server: installed beside its models, read here."""
