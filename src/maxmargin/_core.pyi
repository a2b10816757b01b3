# The compiled core. Its signatures are those of bindings/*.cpp; numpy arrays in and out.
from typing import Any

def __getattr__(name: str) -> Any: ...
