"""`Profile.verdict`: the same as the report's, as values of Python."""

import json

from inside import Inside
from inside import inside as inside  # noqa: PLC0414  (fixture)


def test_the_verdict_has_what_the_report_has(inside: Inside) -> None:
    """The keys that JSON leaves out where there is nothing to tell, too."""
    lines = inside.said(
        """
import asyncio, json, time
async def naps():
    for _ in range(40):
        time.sleep(0.02)
        await asyncio.sleep(0)
with genba.record("app.genba") as r:
    asyncio.run(naps())
verdict = r.profile().verdict
print(json.dumps({key: getattr(verdict, key) for key in ("name", "blocks", "short_blocks", "waited_for_work", "may_be")}))
"""
    )
    found, page = json.loads(lines[-1]), inside.recording("app.genba").report_json()["verdict"]
    # A nap that this machine made long is told apart from the short ones.
    assert "naps" in {blocks["function"] for blocks in (found["short_blocks"], found["blocks"]) if blocks}, found
    assert found == {key: page.get(key, [] if key == "may_be" else None) for key in found}
