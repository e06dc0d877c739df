"""One module for each operator, loaded when it is first used."""
