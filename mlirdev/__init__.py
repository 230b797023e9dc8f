"""mlirdev: a lazy PyTorch device, compiled kernel by kernel through MLIR. See README.md for the map."""
