"""The declarations of the built-in operators, a family a file."""
