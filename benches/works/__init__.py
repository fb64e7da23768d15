"""The works that the bench measures, by name.

Owns: which there are, and which of them only the goals look at. Never: measures.
"""

from works import real, single

WORKS = single.WORKS | real.WORKS
# Not in the table: what goals/sampler.py and goals/real.py look at.
FOR_GOALS = {"idle_200", *real.WORKS}
