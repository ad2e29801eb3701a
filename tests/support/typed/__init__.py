"""Programs of users, which mypy checks; see tests/tools/test_typed_programs.py."""
