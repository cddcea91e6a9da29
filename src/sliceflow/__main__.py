"""`python -m sliceflow` is the command line."""

from sliceflow.cli import main

main()
