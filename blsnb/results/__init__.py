"""Results of client requests: runs, responses and streams, compared and replayed."""
