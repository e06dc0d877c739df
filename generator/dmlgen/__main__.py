"""`python -m dmlgen`."""

import sys

from dmlgen.cli import main

sys.exit(main())
