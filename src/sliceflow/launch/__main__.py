"""`python -m sliceflow.launch`."""

import sys

from sliceflow.launch._launcher import main

main(sys.argv[1:])
