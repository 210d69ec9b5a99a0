"""The result of an evaluation: columns, statistics, kept runs, comparison."""
