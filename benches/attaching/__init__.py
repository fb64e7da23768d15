"""Programs that run before somebody looks at them: how long they are stopped, and how much slower they are.

Owns: starting and ending them, and their own words. Never: judges (goals/attach.py does).
"""
