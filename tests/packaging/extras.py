"""Print the packages that an extra asks for, those of the extras it names included.

python tests/packaging/extras.py EXTRA

`pip install --editable '.[EXTRA]'` would compile the core once more to get them.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

OWN = re.compile(r"maxmargin\[(.*)\]$")


def packages_of(extra: str, extras: dict[str, list[str]]) -> list[str]:
    """Requirements in the order they are listed."""
    found: list[str] = []
    for requirement in extras[extra]:
        own = OWN.match(requirement)
        if own is None:
            found.append(requirement)
            continue
        for name in own[1].split(","):
            found += packages_of(name.strip(), extras)
    return list(dict.fromkeys(found))


if __name__ == "__main__":
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    print(*packages_of(sys.argv[1], project["optional-dependencies"]), sep="\n")
