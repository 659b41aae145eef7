"""`python -m pathway_local`: the command, for where its script is not on the path."""

from pathway_local.cli import main

if __name__ == "__main__":
    main()
