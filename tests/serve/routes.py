"""Every route of the OpenAPI file with the scope it wants, and requests that fit.

Owns: that table; test_access.py compares it with the file, so that no route is left out. `{id}` is a sealed recording of lena's, `{open}` an
open one, `{code}` a link to the first.
"""

import re
from dataclasses import dataclass
from typing import Any

from recording import REPOSITORY

OPENAPI = REPOSITORY / "crates/server/openapi.yaml"


@dataclass(frozen=True)
class Route:
    method: str
    path: str
    # What a token must have: nothing, any token, a scope, or to be the owner's (or admin's).
    wants: str
    ok: int
    body: Any = None
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"


SHA256 = "0" * 64
ROUTES = [
    Route("GET", "/api", "nothing", 200),
    Route("GET", "/api/openapi.yaml", "nothing", 200),
    Route("GET", "/health", "nothing", 200),
    Route("GET", "/", "nothing", 200),
    Route("GET", "/tokens", "nothing", 200),
    Route("GET", "/settings", "nothing", 200),
    Route("GET", "/login", "nothing", 200),
    Route("POST", "/api/session", "nothing", 204, {"token": "{token}"}),
    Route("DELETE", "/api/session", "nothing", 204),
    Route("GET", "/s/{code}", "nothing", 303),
    Route("GET", "/s/{code}/recording", "nothing", 200),
    Route("GET", "/api/session", "any", 200),
    Route("GET", "/api/recordings", "any", 200),
    Route("GET", "/metrics", "read", 200),
    Route("GET", "/api/settings", "read", 200),
    Route("GET", "/api/recordings/{id}", "read", 200),
    Route("GET", "/api/recordings/{id}/content", "read", 200),
    Route("GET", "/api/recordings/{id}/events", "read", 200),
    Route("GET", "/api/recordings/{id}/tree", "read", 200),
    Route("GET", "/api/recordings/{id}/rows", "read", 200),
    Route("GET", "/api/recordings/{id}/memory", "read", 200),
    Route("GET", "/api/recordings/{id}/links", "read", 200),
    Route("GET", "/api/recordings/{before}/difference/{after}", "read", 200),
    Route("GET", "/r/{id}", "read", 200),
    Route("GET", "/compare/{before}/{after}", "read", 200),
    Route("POST", "/api/recordings", "write", 201, {"name": "app.genba"}),
    Route("HEAD", "/api/recordings/{open}/content", "owner", 200),
    Route("PATCH", "/api/recordings/{open}/content", "owner", 204, b"", (("Upload-Offset", "0"),)),
    Route("POST", "/api/recordings/{open}/seal", "owner", 409, {"bytes": 1, "sha256": SHA256}),
    Route("PATCH", "/api/recordings/{id}", "owner", 200, {"tags": ["tried"]}),
    Route("POST", "/api/recordings/{id}/links", "owner", 201, {"expires_ms": None, "needs_token": False, "fragment": ""}),
    Route("DELETE", "/api/links/{code}", "owner", 204),
    Route("DELETE", "/api/recordings/{id}", "owner", 204),
    Route("GET", "/api/tokens", "admin", 200),
    Route("POST", "/api/tokens", "admin", 201, {"name": "made", "scopes": ["read"], "expires_ms": None}),
    Route("POST", "/api/tokens/{name}/rotate", "admin", 200),
    Route("DELETE", "/api/tokens/{name}", "admin", 204),
    Route("PATCH", "/api/settings", "admin", 200, {"keep_days": 30}),
]


def described() -> set[str]:
    """The file's routes, with parameters as `{}`. Its layout is one path or method a line, so no reader of YAML is needed."""
    found, path = set(), ""
    for line in OPENAPI.read_text().partition("\npaths:\n")[2].partition("\ncomponents:\n")[0].splitlines():
        if match := re.fullmatch(r"  (/\S*):", line):
            path = match[1]
        elif match := re.fullmatch(r"    (get|put|post|delete|patch|head):", line):
            found.add(f"{match[1].upper()} {anonymous(path)}")
    return found


def anonymous(path: str) -> str:
    return re.sub(r"\{\w+\}", "{}", path)
