"""One HTML page from the modules in `web` and a document: all in one file, which needs nothing else."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from importlib.resources import files
from typing import Any

from saltus.errors import InputError

ENTRY = "main.mjs"

_IMPORT = re.compile(r'^import \{([\w\s,]+)\} from "\./([\w-]+\.mjs)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const) \w)", re.MULTILINE)
_EXPORTED = re.compile(r"^export (?:async )?(?:function|class|const) (\w+)", re.MULTILINE)
_LEFT_OVER = re.compile(r"^\s*(?:import\b|export\b).*$|\bimport\s*\(.*$|\bimport\.meta\b.*$", re.MULTILINE)
_HOLE = re.compile(r"\{\{(title|style|script|data)\}\}")


def page(document: dict[str, Any]) -> str:
    """Write a document as a page.

    Parameters
    ----------
    document
        What the page shows: `format`, `title`, `subtitle` and `sections`.
    """
    parts = {
        "title": html.escape(str(document.get("title") or "saltus")),
        "style": source("style.css").replace("</", "<\\/"),
        "script": script_safe(bundle(source)),
        "data": data_safe(document),
    }
    # in one pass: what is put in is not looked through for holes
    return _HOLE.sub(lambda hole: parts[hole[1]], source("page.html"))


def source(name: str) -> str:
    """The text of a file of the front end."""
    return (files("saltus.show") / "web" / name).read_text(encoding="utf-8")


def data_safe(document: dict[str, Any]) -> str:
    """A document as JSON that cannot end the element it stands in."""
    try:
        text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"this document cannot be written as JSON: {error}; a gap in a list is None") from error
    return _no_line_separators(text.replace("<", "\\u003c"))


def script_safe(code: str) -> str:
    """Code that cannot end the element it stands in; what it does is the same."""
    code = re.sub(r"</(?=script)", r"<\\/", code, flags=re.IGNORECASE)
    return _no_line_separators(code.replace("<!--", "<\\!--"))


def _no_line_separators(text: str) -> str:
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def bundle(read: Callable[[str], str], entry: str = ENTRY) -> str:
    """All modules that one needs as one script, each in a scope of its own, those needed first.

    Parameters
    ----------
    read
        Gives the text of a module by its name.
    entry
        The module that is needed by none.
    """
    texts: dict[str, str] = {}
    _collect(entry, read, texts, ())
    exported = {name: _EXPORTED.findall(text) for name, text in texts.items()}
    return "\n".join(_scope(name, text, exported) for name, text in texts.items())


def _collect(name: str, read: Callable[[str], str], texts: dict[str, str], above: tuple[str, ...]) -> None:
    """Add a module after all that it imports."""
    if name in above:
        circle = " -> ".join((*above[above.index(name) :], name))
        raise InputError(f"modules import each other in a circle: {circle}")
    if name in texts:
        return
    try:
        text = read(name)
    except OSError as error:
        raise InputError(f"there is no module {name}, imported by {above[-1] if above else 'the page'}") from error
    for _, needed in _IMPORT.findall(text):
        _collect(needed, read, texts, (*above, name))
    texts[name] = text


def _scope(name: str, text: str, exported: dict[str, list[str]]) -> str:
    """A module as a constant that holds what it exports."""

    def taken(line: re.Match[str]) -> str:
        names, needed = [part.strip() for part in line[1].split(",") if part.strip()], line[2]
        for one in names:
            if one not in exported[needed]:
                raise InputError(f"{name} imports {one}, which {needed} does not export")
        return f"const {{ {', '.join(names)} }} = {_constant(needed)};"

    body = _EXPORT.sub("", _IMPORT.sub(taken, text))
    if left := _LEFT_OVER.search(body):
        raise InputError(
            f"{name} has {left[0].strip()!r}; a module may only have lines like"
            ' import { a, b } from "./x.mjs"; and export function, class or const'
        )
    given = f"return {{ {', '.join(exported[name])} }};\n" if exported[name] else ""
    return f"const {_constant(name)} = (() => {{\n{body}{given}}})();"


def _constant(name: str) -> str:
    return "module_" + re.sub(r"\W", "_", name.removesuffix(".mjs"))
