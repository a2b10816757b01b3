"""HTML and SVG put together from parts, every text escaped.

Labels and names of features come from data files of strangers. Text becomes part of a page only
through `element`, which escapes whatever is not `Markup` already.
"""

from __future__ import annotations

import html
import re
import unicodedata

LONGEST = 120  # characters of a label that are shown


class Markup(str):
    """Text that is markup already."""


# Controls, format characters (which can turn the direction of text), halves of characters, private
# use and what is not assigned: shown by their number instead of obeyed.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
_SUSPECT = re.compile(r"[^\x20-\x7e]")


def visible(text: object) -> str:
    """A text of which every character can be seen."""

    def shown(found: re.Match[str]) -> str:
        character = found.group()
        if unicodedata.category(character) in _UNSEEN or character in "\u2028\u2029":
            return f"\\u{ord(character):04x}" if character not in "\n\t" else " "
        return character

    return _SUSPECT.sub(shown, str(text))


def label(text: object) -> str:
    """A name from the data as it is shown: visible, and cut if it is very long."""
    seen = visible(str(text)[: 4 * LONGEST])
    return seen if len(seen) <= LONGEST else seen[: LONGEST - 1] + "…"


def element(name: str, /, *children: object, **attributes: object) -> Markup:
    """``<name attributes>children</name>``; a trailing underscore lets `class_` be a name."""
    inner = "".join(_escaped(child) for child in children)
    return Markup(f"<{name}{_attributes(attributes)}>{inner}</{name}>")


def empty(name: str, /, **attributes: object) -> Markup:
    """An element of SVG, or of HTML without content."""
    return Markup(f"<{name}{_attributes(attributes)}/>")


def joined(*parts: Markup) -> Markup:
    """Markup after markup."""
    return Markup("".join(parts))


def _attributes(attributes: dict[str, object]) -> str:
    text = ""
    for name, value in attributes.items():
        if value is not None:
            spelled = name.rstrip("_").replace("_", "-")
            text += f' {spelled}="{_escaped(value)}"'
    return text


def _escaped(child: object) -> str:
    return child if isinstance(child, Markup) else html.escape(visible(child), quote=True)
