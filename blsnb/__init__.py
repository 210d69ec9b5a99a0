"""Write, run and see Triton Python models and BLS in a notebook."""
