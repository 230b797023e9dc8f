"""PyTorch's side: what users call is recorded here."""
