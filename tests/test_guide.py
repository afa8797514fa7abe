"""Every page of the guide is executed, and what it shows must be what is printed.

The rules, which are all there is to know when writing a page:

* A ```python block is run, all blocks of a page in order, in one namespace and in an empty folder. If its first line is
  ``# file: NAME`` it is written to that file instead.
* A ```console block has lines that begin with ``$ saltus``; each is run on the command line.
* What a block prints stands in the ```text block right after it; without one it must print nothing.
* Shown and printed text are compared line by line and word by word. Whole numbers must be the same; others must agree
  to the digits shown, within one unit of the last. A difference below 1e-9 is rounding. How many steps a run took is
  not compared. ``...`` stands for any words of a line, or for any lines where it is alone on one.
* Blocks in other languages are only shown.
"""

import contextlib
import io
import re
import shlex
from decimal import Decimal
from pathlib import Path

import pytest

from saltus.cli import main

GUIDE = Path(__file__).parent.parent / "docs" / "guide"
PAGES = sorted(path.name for path in GUIDE.glob("*.md"))
REFERENCES = GUIDE.parent / "references.bib"
ROUNDING = Decimal("1e-9")

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_STEPS = re.compile(r"\d+ (?=steps|rejected)")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?")


def blocks(text):
    """Line number, language, content and shown output (None where there is none) of each block that is run."""
    found = [(match.group(1), match.group(2), match.start()) for match in _BLOCK.finditer(text)]
    for (language, content, start), (after, shown, _) in zip(found, [*found[1:], ("", "", 0)], strict=False):
        if language in ("python", "console"):
            yield text.count("\n", 0, start) + 1, language, content, shown if after == "text" else None


def perform(language, content, namespace, line, page):
    """Run one block, or write its file; return what it prints."""
    first, _, rest = content.partition("\n")
    if first.startswith("# file: "):
        Path(first.removeprefix("# file: ")).write_text(rest)
        return ""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        if language == "python":
            # as many empty lines before it as in the page, so that errors name the page's own line
            exec(compile("\n" * line + content, page, "exec"), namespace)
        else:
            for command in content.splitlines():
                program, *arguments = shlex.split(command.removeprefix("$ "))
                assert program == "saltus", f"{page}:{line}: not a saltus command: {command}"
                with pytest.MonkeyPatch.context() as patch, contextlib.suppress(SystemExit):
                    patch.setenv("SALTUS_PLUGINS", "")  # each command is a process of its own to its user
                    main(arguments)
    return printed.getvalue()


def same_word(shown, printed):
    """Whether two words agree: all but their numbers exactly, and these to the digits shown."""
    if shown == printed:
        return True
    if _NUMBER.split(shown) != _NUMBER.split(printed):
        return False
    return all(map(same_number, _NUMBER.findall(shown), _NUMBER.findall(printed)))


def same_number(shown, printed):
    one, apart = Decimal(shown), abs(Decimal(shown) - Decimal(printed))
    whole = shown.lstrip("+-").isdigit()
    return apart < ROUNDING or (not whole and apart <= Decimal(1).scaleb(one.as_tuple().exponent))


def same_line(shown, printed):
    words, other = (_STEPS.sub("N ", line).split() for line in (shown, printed))
    if "..." not in words:
        return len(words) == len(other) and all(map(same_word, words, other))
    place = words.index("...")
    head, tail = words[:place], words[place + 1 :]
    if len(other) < place + len(tail):
        return False
    rest = other[len(other) - len(tail) :]
    return all(map(same_word, head, other)) and all(map(same_word, tail, rest))


def first_difference(shown, printed):
    """The first line that differs, or None."""
    shown, printed = shown.splitlines(), printed.splitlines()
    while shown:
        line = shown.pop(0)
        if line.strip() == "...":
            if not shown:
                return None
            while printed and not same_line(shown[0], printed[0]):
                printed.pop(0)
            continue
        if not printed or not same_line(line, printed[0]):
            return f"shown   {line}\nprinted {printed[0] if printed else '(nothing)'}"
        printed.pop(0)
    return f"not shown: {printed[0]}" if printed else None


@pytest.mark.parametrize("page", PAGES)
def test_page(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SALTUS_PLUGINS", "")
    namespace = {"__name__": "__main__"}
    for line, language, content, shown in blocks((GUIDE / page).read_text()):
        printed = perform(language, content, namespace, line, page)
        difference = first_difference(shown or "", printed)
        assert difference is None, f"docs/guide/{page}:{line}\n{difference}\nall that was printed:\n{printed}"


@pytest.mark.parametrize("page", PAGES)
def test_links_and_sources(page):
    """Links lead somewhere, and sources are in the list of references."""
    text = _BLOCK.sub("", (GUIDE / page).read_text())
    known = set(re.findall(r"^@\w+\{(\w+),", REFERENCES.read_text(), re.MULTILINE))
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        assert "://" in target or (GUIDE / target).exists(), f"no such file: {target}"
    for key in re.findall(r"\[([a-z_]+\d{0,4})(?:, [^\]]*)?\](?!\()", text):
        assert key in known, f"[{key}] is not in docs/references.bib"


@pytest.mark.parametrize("page", PAGES)
def test_lines_are_short(page):
    for number, line in enumerate((GUIDE / page).read_text().splitlines(), 1):
        assert len(line) <= 140, f"line {number} has {len(line)} characters"


def test_index_names_every_page():
    index = (GUIDE / "README.md").read_text()
    assert [page for page in PAGES if page != "README.md" and f"({page})" not in index] == []


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("t = 0.45 s", "t = 0.4515 s", True),
        ("t = 0.46 s", "t = 0.4515 s", True),
        ("t = 0.47 s", "t = 0.4515 s", False),
        ("6 events", "7 events", False),
        ("dy 0", "dy -3e-17", True),
        ("6.5e-14 J", "-3.2e-16 J", True),
        ("6.5e-14 J", "3.2e-3 J", False),
        ("wrote ... now", "wrote a b now", True),
        ("wrote ... now", "wrote a b", False),
        ("one\n...\nfour", "one\ntwo\nthree\nfour", True),
        ("one\n...\nfive", "one\ntwo\nfour", False),
        ("one", "one\ntwo", False),
        ("(0.5, 1.25)", "(0.5000, 1.2500)", True),
        ("stick", "slip", False),
    ],
)
def test_the_comparison_itself(shown, printed, same):
    assert (first_difference(shown, printed) is None) is same
