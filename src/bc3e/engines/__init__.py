"""Tables larger than memory, and tables larger than a machine."""
