"""What runs inside the framework under test: standard library only, Python >= 3.9.

Nothing of ciwm is imported here and nothing of ciwm imports this; `enter.py` is the way in.
"""
