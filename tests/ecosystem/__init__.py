"""Concrete calls of other libraries on tensors, a file for each library; ``python -m tests.ecosystem`` prints the counts."""
