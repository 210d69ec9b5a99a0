"""Which requests leave together, and when: decided here, told the time."""
