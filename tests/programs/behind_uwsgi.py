"""The WSGI application of the case, with collections in uWSGI's own hook."""

import genba.gc
import slow

application = slow.application
genba.gc.after_uwsgi_request()
