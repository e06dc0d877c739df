"""One module per operator, loaded on first use."""
