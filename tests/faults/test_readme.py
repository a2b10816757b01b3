"""The table of faults names tests that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TABLE = (Path(__file__).parent / "README.md").read_text()


def test_every_fault_has_a_test():
    rows = [line for line in TABLE.splitlines() if line.startswith("| ") and "| test |" not in line]
    assert len(rows) > 40
    for row in rows:
        file = None
        named = re.findall(r"`(tests/\S+?\.(?:py|cpp))?(?:::(\w+))?`", row.split(" | ")[-1])
        for path, test in named:
            file = ROOT / path if path else file
            assert file is not None, row
            text = file.read_text()
            assert not test or f"def {test}(" in text, (file, test)
        assert any(path for path, _ in named), row
