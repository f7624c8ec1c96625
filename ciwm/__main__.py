"""`python -m ciwm` is the same program as `ciwm`."""

from ciwm.cli import main

main()
