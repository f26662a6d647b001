"""Engines for tables larger than memory; each is imported, with what it needs, when it is used."""
