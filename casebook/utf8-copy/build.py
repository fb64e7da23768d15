"""Builds joined.c for this interpreter, into the current folder."""

import os
import subprocess
import sysconfig

SOURCE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "joined.c")

if __name__ == "__main__":
    include = sysconfig.get_paths()["include"]
    subprocess.run(["cc", "-O2", "-g", "-fPIC", "-shared", "-I", include, "-o", "joined.so", SOURCE], check=True)
