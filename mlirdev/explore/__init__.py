"""The explorer: the record of a run, and what is made of it."""
