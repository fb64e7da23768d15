"""An ASGI application that leaves garbage in cycles: `plain`, and `moved` with the collections behind its responses."""

import genba.gc
import slow


async def plain(scope, receive, send):
    body = str(slow.handle()).encode()
    headers = [(b"content-type", b"text/plain"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


moved = genba.gc.after_response(plain)
