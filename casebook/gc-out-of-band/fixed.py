"""The same application, with the collections behind its responses."""

import genba.gc
import slow

application = genba.gc.after_response(slow.application)

if __name__ == "__main__":
    slow.main(application)
