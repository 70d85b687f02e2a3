"""The native half; its types are those of the package."""

from typing import Any

def __getattr__(name: str) -> Any: ...
