"""Everything that is one file a thing: found by name in saltus itself, in users' folders and in installed packages.

A plugin folder is flat, or has folders named after the kinds. Each file in it is one thing, named by the file;
what the file defines tells its kind. Folders (or single files) come from the environment variable
``SALTUS_PLUGINS``, from `add_folder` and from the command line; installed packages name modules as entry points of the
group ``saltus.plugins``. No plugin is run before it is asked for, and a broken one spoils no other.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import os
import re
import sys
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from saltus._reading import read_bytes
from saltus.errors import InputError, SaltusError, unknown_name

__all__ = [
    "KINDS",
    "Entry",
    "PluginPaths",
    "add_file",
    "add_folder",
    "find",
    "load",
    "names",
    "plugins",
    "problems",
    "where",
]

VARIABLE = "SALTUS_PLUGINS"
GROUP = "saltus.plugins"


@dataclass(frozen=True)
class Kind:
    """A kind of thing: what one is called, the folder of saltus that holds them, and what a file of it defines."""

    singular: str
    folder: str
    marks: tuple[str, ...]


KINDS = {
    "robots": Kind("robot", "robots", ("build",)),
    "controllers": Kind("controller", "control", ("CONTROLLER",)),
    "laws": Kind("impact law", "contact/laws", ("COEFFICIENTS", "impulse")),
    "methods": Kind("method", "engine/methods", ("TABLEAU",)),
    "gaits": Kind("gait", "gaits/types", ("GAIT",)),
    "papers": Kind("paper", "studies/papers", ("PAPER",)),
    "problems": Kind("problem", "optimize/problems", ("PROBLEM",)),
}

_MARKS = "; ".join(f"{' and '.join(kind.marks)} ({kind.singular})" for kind in KINDS.values())


@dataclass(frozen=True)
class Entry:
    """One registered file. Where it cannot be used ``problem`` says why and ``kind`` is empty; ``refused`` is the kind
    in which another file has its name."""

    name: str
    kind: str
    path: Path
    module: str
    source: str
    problem: str = ""
    refused: str = ""

    @property
    def plugin(self) -> bool:
        """Whether it came from outside of saltus."""
        return self.source != "saltus"


# -- what users ask ---------------------------------------------------------------------------------


def names(kind: str, *, own: bool = False) -> list[str]:
    """Names of everything of a kind, or of what is saltus's own."""
    _check_kind(kind)
    return sorted({entry.name for entry in (_own() if own else _entries()) if entry.kind == kind})


def find(kind: str, name: str) -> Entry:
    """The file behind a name: the first that claimed it."""
    _check_kind(kind)
    same = [entry for entry in _entries() if entry.name == name]
    good = [entry for entry in same if entry.kind == kind]
    if good:
        return good[0]
    for entry in same:
        if entry.problem and not entry.refused:
            raise SaltusError(f"cannot use {entry.path}: {entry.problem}")
    raise unknown_name(KINDS[kind].singular, name, names(kind))


def load(kind: str, name: str) -> ModuleType:
    """The module behind a name, loaded when first asked for; a warning tells of others that claim the name."""
    entry = find(kind, name)
    for other in _entries():
        if other.refused == kind and other.name == name:
            warnings.warn(other.problem, stacklevel=3)
    if not entry.plugin:
        return importlib.import_module(entry.module)
    try:
        module = importlib.import_module(entry.module)
    except (Exception, SystemExit) as error:
        raise SaltusError(f"cannot load {entry.path}: {_reason(error, entry.path)}") from error
    for mark in KINDS[kind].marks:
        if not hasattr(module, mark):
            raise SaltusError(f"cannot use {entry.path}: it has no {mark} once it is loaded")
    return module


def where(kind: str, name: str) -> Path:
    """The file behind a name."""
    return find(kind, name).path


def plugins() -> list[Entry]:
    """Every usable file from outside of saltus."""
    return [entry for entry in _entries() if entry.plugin and entry.kind]


def problems() -> dict[Path, str]:
    """Every file that cannot be used, and why, as far as it can be told without running it."""
    return {entry.path: entry.problem for entry in _entries() if entry.problem}


def add_folder(path: str | Path) -> None:
    """Use the plugins of a folder, in this process and in those it starts from now on."""
    folder = Path(path).expanduser().absolute()
    if not folder.is_dir():
        raise InputError(f"no plugin folder {path}: give a folder that holds the files of your robots, laws and so on")
    for entry in _settled([*_entries(), *_folder(folder)]):
        if entry.refused and folder in entry.path.parents:
            raise InputError(entry.problem)
    _remember(folder)


def add_file(path: str | Path) -> Entry:
    """Use one file as a plugin; it may be one that is known already."""
    file = Path(path).expanduser().absolute()
    if not file.is_file():
        raise InputError(f"no plugin file {path}: give a Python file that defines one of {_MARKS}")
    if file.suffix != ".py" or file.name.startswith("_"):
        raise InputError(f"{path} is not a plugin: its name must end in .py and not begin with _")
    known = _entries()
    entry = next(entry for entry in _settled([*known, _read(file)]) if entry.path.resolve() == file.resolve())
    if entry.problem:
        raise SaltusError(f"cannot use {entry.path}: {entry.problem}")
    if entry not in known:
        _remember(file)
    return entry


def _remember(path: Path) -> None:
    # child processes must find the same files, and all they inherit is the environment
    if os.pathsep in str(path):
        raise InputError(f"the path of a plugin must not hold {os.pathsep!r}, got {path}")
    known = [text for text in os.environ.get(VARIABLE, "").split(os.pathsep) if text]
    if str(path) not in known:
        os.environ[VARIABLE] = os.pathsep.join([*known, str(path)])


class PluginPaths:
    """The plugin files and folders of a process, as they go with what is sent: those that are there are used there."""

    def __reduce__(self) -> tuple[object, ...]:
        return _use, (tuple(text for text in os.environ.get(VARIABLE, "").split(os.pathsep) if text),)


def _use(paths: tuple[str, ...]) -> PluginPaths:
    for text in paths:
        path = Path(text).expanduser().absolute()
        if path.exists():
            _remember(path)
    return PluginPaths()


def _check_kind(kind: str) -> None:
    if kind not in KINDS:
        raise unknown_name("kind", kind, KINDS)


def _reason(error: BaseException, path: Path) -> str:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    place = f" (line {lines[-1]})" if lines else ""
    return f"{type(error).__name__}: {error}{place}"


# -- where files are found --------------------------------------------------------------------------


def _entries() -> list[Entry]:
    """All files, those of saltus first."""
    others = [*_given(), *_entry_points(tuple(sys.path))]
    return _settled([*_own(), *others]) if others else _own()


def _settled(entries: list[Entry]) -> list[Entry]:
    """The first file to claim a name has it; one that is reached in two ways counts once."""
    found: dict[tuple[str, Path], Entry] = {}
    holders: dict[tuple[str, str], Entry] = {}
    for entry in entries:
        place = (entry.name, _resolved(entry.path))
        if place in found:
            continue
        holder = holders.setdefault((entry.kind, entry.name), entry) if entry.kind else entry
        if holder is not entry:
            problem = (
                f"the {KINDS[entry.kind].singular} {entry.name!r} is already {holder.path}, "
                f"so the plugin {entry.path} is refused; rename it"
            )
            entry = replace(entry, kind="", problem=problem, refused=entry.kind)
        found[place] = entry
    return list(found.values())


@lru_cache(maxsize=1)
def _own() -> list[Entry]:
    root = Path(__file__).parent
    return [
        Entry(path.stem, name, path, f"saltus.{kind.folder.replace('/', '.')}.{path.stem}", "saltus")
        for name, kind in KINDS.items()
        for path in _files(root / kind.folder)
    ]


@lru_cache(maxsize=4096)
def _resolved(path: Path) -> Path:
    return path.resolve()


def _given() -> Iterator[Entry]:
    """What the environment variable names, where `add_folder` leaves its folders too."""
    for text in os.environ.get(VARIABLE, "").split(os.pathsep):
        if not text:
            continue
        path = Path(text).expanduser().absolute()
        if path.is_file():
            yield _read(path)
        elif path.is_dir():
            yield from _folder(path)
        else:
            raise InputError(f"{VARIABLE} names {text}, which does not exist; correct or unset it")


def _folder(path: Path) -> Iterator[Entry]:
    yield from map(_read, _files(path))
    for kind in KINDS:
        for file in _files(path / kind):
            yield _read(file, kind)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.py") if not path.name.startswith("_") and path.is_file())


def _read(path: Path, folder_kind: str = "") -> Entry:
    kind, problem = _kind_of(path)
    if kind and folder_kind not in ("", kind):
        problem = f"it defines a {KINDS[kind].singular} but lies in a folder named {folder_kind}"
    return Entry(path.stem, "" if problem else kind, path, _module_name(path), str(path.parent), problem)


@lru_cache(maxsize=4)
def _entry_points(searched: tuple[str, ...]) -> list[Entry]:
    """Modules that installed packages name; looked up anew only where the search path has changed."""
    from importlib.metadata import entry_points

    found = []
    for point in entry_points(group=GROUP):
        source = f"package {point.dist.name}" if point.dist else "an installed package"
        kind, path = "", Path(point.value)
        try:
            spec = None if point.attr else _spec(point.module)
        except Exception as error:  # noqa: BLE001 - a package that cannot be imported is that package's problem
            problem = f"entry point {point.name} of {source}: {type(error).__name__}: {error}"
        else:
            problem = f"entry point {point.name} of {source} must name a Python module, got {point.value!r}"
            if spec is not None and spec.origin and spec.origin.endswith(".py"):
                path = Path(spec.origin)
                kind, problem = _kind_of(path)
        found.append(Entry(point.name, kind, path, point.value, source, problem))
    return found


def _spec(module: str) -> ModuleSpec | None:
    """Where a module is, without running the packages that it lies in."""
    name, _, rest = module.partition(".")
    spec = importlib.util.find_spec(name)
    for part in rest.split(".") if rest else ():
        within = None if spec is None else spec.submodule_search_locations
        if within is None:
            return None
        name = f"{name}.{part}"
        finders = (getattr(finder, "find_spec", None) for finder in sys.meta_path)
        spec = next((found for find in finders if find and (found := find(name, within))), None)
    return spec


# -- what a file defines ----------------------------------------------------------------------------


def _kind_of(path: Path) -> tuple[str, str]:
    """The kind that a file's definitions tell, and what is wrong if they tell none."""
    try:
        state = path.stat()
        return _parsed(path, state.st_mtime_ns, state.st_size)
    except OSError as error:
        return "", f"{type(error).__name__}: {error}"


@lru_cache(maxsize=1024)
def _parsed(path: Path, changed: int, size: int) -> tuple[str, str]:
    try:
        defined = set(_defined(statements(path)))
    except SyntaxError as error:
        return "", f"SyntaxError: {error.msg} (line {error.lineno})"
    except (ValueError, RecursionError, MemoryError) as error:  # the last two where brackets lie too deep
        return "", f"{type(error).__name__}: {error}"
    told = [name for name, kind in KINDS.items() if defined.issuperset(kind.marks)]
    if len(told) == 1:
        return told[0], ""
    given = " and ".join(mark for kind in KINDS.values() for mark in kind.marks if mark in defined)
    got = f"it defines {given}" if given else "it defines none of them"
    return "", f"what a file defines must tell its kind: one of {_MARKS}; {got}"


def statements(path: Path) -> list[ast.stmt]:
    """What a file says, without running it."""
    return ast.parse(read_bytes(path), str(path)).body


def _defined(said: list[ast.stmt]) -> Iterator[str]:
    """Names that a module's own statements bind."""
    for statement in said:
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            yield statement.name
        elif isinstance(statement, (ast.Import, ast.ImportFrom)):
            yield from (alias.asname or alias.name for alias in statement.names)
        elif isinstance(statement, ast.Assign):
            for target in statement.targets:
                yield from (node.id for node in ast.walk(target) if isinstance(node, ast.Name))
        elif isinstance(statement, ast.AnnAssign):
            if statement.value is not None and isinstance(statement.target, ast.Name):
                yield statement.target.id
        elif isinstance(statement, (ast.If, ast.Try, ast.With)):
            for field in ("body", "orelse", "finalbody"):
                yield from _defined(getattr(statement, field, []))
            for handler in getattr(statement, "handlers", []):
                yield from _defined(handler.body)


# -- how a file becomes a module --------------------------------------------------------------------

_PACKAGE = "saltus._plugins"


def _module_name(path: Path) -> str:
    """A name that only this file has: a plugin called random must not be taken for the library's."""
    digest = hashlib.sha256(str(path).encode()).hexdigest()[:12]
    return f"{_PACKAGE}.{re.sub(r'[^A-Za-z0-9_]', '_', path.stem)}_{digest}"


class _Loader(SourceFileLoader):
    """Reads the source each time: bytecode on disk would miss an edit made within a second."""

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)  # type: ignore[no-any-return]


class _Finder:
    """Lets plugins be imported by their private names, so that what they define can be unpickled elsewhere."""

    @staticmethod
    def find_spec(fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if not fullname.startswith(f"{_PACKAGE}."):
            return None
        for entry in _given():
            if entry.module == fullname:
                return importlib.util.spec_from_file_location(
                    fullname, entry.path, loader=_Loader(fullname, str(entry.path))
                )
        raise ModuleNotFoundError(
            f"{fullname} was made of a plugin that this process does not know: copy the file to where it was, and name "
            f"its folder in {VARIABLE}",
            name=fullname,
        )


sys.meta_path.append(_Finder)
