"""Programs of users, which mypy checks; see tests/tools/test_typed_programs.py."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import assert_type as assert_type
else:

    def assert_type(value: Any, kind: Any) -> Any:
        """Do nothing; checkers compare the type of the value."""
        return value
