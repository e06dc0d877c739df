"""What several outputs need to know of expressions."""
