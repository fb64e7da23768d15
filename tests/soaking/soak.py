"""Short or long: `make test` runs the short amounts, `make soak` (GENBA_SOAK=1) the long ones, of the same tests.

Owns: that switch. Never: changes what is asserted, only how much is done. Which CPythons a test runs on: tests/workshop/runs_on.py.
"""

import os

SOAK = os.environ.get("GENBA_SOAK") == "1"
