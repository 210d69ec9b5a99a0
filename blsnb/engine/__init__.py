"""What runs; every thread and loop starts here."""
