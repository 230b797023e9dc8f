"""The subcommands of `mlirdev`, a module each; see mlirdev/cli.py."""
