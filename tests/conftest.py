"""What all tests share: hypothesis draws the same examples in every run, so that a failure is the change's own.

``pytest --hypothesis-profile default`` draws new ones.
"""

from hypothesis import settings

settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")

collect_ignore = ["typing_errors.py"]       # a program that is wrong in every line, for test_typing.py
