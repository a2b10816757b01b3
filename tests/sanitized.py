"""Puts a core built with sanitizers in the place of the usual one, before anything imports it.

`make asan` names the file in MAXMARGIN_SANITIZED_CORE and runs pytest with `-p tests.sanitized`.
"""

import importlib.util
import os
import sys


def load() -> None:
    path = os.environ["MAXMARGIN_SANITIZED_CORE"]
    spec = importlib.util.spec_from_file_location("maxmargin._core", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)


load()
