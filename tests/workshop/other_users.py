"""Programs of another user that root starts.

Owns: that user, and the words in front of such a program's command. Never: judges a recording.
"""

import os

import pytest

NOBODY = 65534
# May read everything, so that it finds its interpreter below root's folders, and write nothing of root's.
READER = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]

root_alone = pytest.mark.skipif(os.geteuid() != 0, reason="only root's programs become another user's")
