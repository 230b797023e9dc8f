"""Rules on graph nodes, one file per family; importing this package registers them all."""
