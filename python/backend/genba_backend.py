"""The build backend: maturin's, told to link with zig against glibc 2.17 so that one wheel runs wherever pip accepts it.

Owns: those arguments. Never: changes what is in the wheel, touches arguments given in MATURIN_PEP517_ARGS.
"""

import os

import maturin

os.environ.setdefault("MATURIN_PEP517_ARGS", "--zig --compatibility manylinux_2_17")

build_wheel = maturin.build_wheel
build_sdist = maturin.build_sdist
build_editable = maturin.build_editable
get_requires_for_build_wheel = maturin.get_requires_for_build_wheel
get_requires_for_build_sdist = maturin.get_requires_for_build_sdist
get_requires_for_build_editable = maturin.get_requires_for_build_editable
prepare_metadata_for_build_wheel = maturin.prepare_metadata_for_build_wheel
prepare_metadata_for_build_editable = maturin.prepare_metadata_for_build_editable
