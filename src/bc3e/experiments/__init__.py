"""Data sets and experiments that show what the method does."""
