"""uWSGI as a module of the interpreter; argv is its command line."""

import sys

import pyuwsgi

pyuwsgi.run(sys.argv[1:])
