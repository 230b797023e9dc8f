"""`python -m mlirdev` is the command line."""

from mlirdev.cli import main

if __name__ == "__main__":
    main()
