"""Keys of machine code: every edit of what compiled code uses changes them, and no other edit does.

Nothing is compiled here. Functions are edited in a copy of their source, one at a time, and take their old code again.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import dis
import importlib
import inspect
import itertools
import math
import operator
import os
import pkgutil
import shutil
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

import pytest
from numba import types
from numba.extending import overload, overload_attribute

import saltus
from saltus import _native
from saltus._closure import _instructions, code_key, functions_reached
from saltus._native import (
    ADVANCE,
    CONTROL,
    FIGURES,
    KERNEL,
    LANES,
    LAW,
    PART,
    STAGE_OF_LANES,
    STEP_OF_LANES,
    entry_key,
    where,
)
from saltus.contact import laws
from saltus.control._reach import Reach
from saltus.engine import _lanes, _program, _single, _tableau, _wide
from saltus.engine._emit import SCOPE
from saltus.engine._straight import straight
from saltus.hybrid._modes import symbolic_mode
from saltus.optimize import _impulses, _sweeps
from saltus.robots import find_robot

PACKAGE = Path(saltus.__file__).parent
CONTROL_ARGUMENTS = ("t", "x", "status", "memory", "p", "data", "piece", "u", "request")
FIGURE_ARGUMENTS = ("moment", "t", "before", "after", "old", "new", "guard", "p", "out")
# What compiled code of other files calls by name, and what is there for those who write laws and controllers.
SOME = types.int64(types.int64)


def modules():
    """All of saltus."""
    for found in pkgutil.walk_packages([str(PACKAGE)], "saltus."):
        if not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


def mathematics(x):
    """What expressions and controllers may use of `math`, beyond what those of saltus do."""
    first = math.tan(x) + math.log2(x) + math.log10(x) + math.log1p(x) + math.expm1(x) + math.erf(x) + math.erfc(x)
    second = math.sinh(x) + math.cosh(x) + math.tanh(x) + math.asinh(x) + math.acosh(x) + math.atanh(x)
    whole = math.floor(x) + math.ceil(x) + math.trunc(x) + math.gamma(x) + math.lgamma(x) + math.exp2(x)
    return first + second + whole + math.asin(x) + math.acos(x) + math.atan2(x, x) + where(x, x)


def emitted(source, name, scope):
    made = dict(scope)
    exec(compile(source, f"<{name}>", "exec"), made)
    return made[name]


def kernels():
    """Kernels as they are written for a robot: of one run, of lanes, of single precision."""
    hopper, ball, swinger = find_robot("hopper"), find_robot("bouncing_ball"), find_robot("brachiator")
    for system in (hopper, ball, find_robot("claptrap")):
        sources = {**_program.kernel_sources(system), **_program.derivative_sources(system)}
        yield from ((straight(source, SCOPE), KERNEL) for source in sources.values())
    bounds = "def bounds(t, x, u, p, out):\n    a0 = min(t, x[0])\n    out[0] = max(a0, t)\n    return 0\n"
    yield straight(bounds, SCOPE), KERNEL
    pendulum, method = find_robot("double_pendulum"), _tableau.find_method("dopri5")
    nx = pendulum.dynamics.x.numel()
    for name, source, kind in (
        ("flow", _wide.flow_source(pendulum, own=True), LANES),
        ("watch", _wide.watch_source(pendulum, own=True), LANES),
        ("accept", _wide.accept_source(pendulum, method, own=True), LANES),
        ("step", _wide.step_source(method, nx, 0, 3), STEP_OF_LANES),
    ):
        yield emitted(source, name, _wide.SCOPE), kind
    stage = _lanes.stage_source(symbolic_mode(ball, (0,)), lane_parameters=False)
    yield emitted(stage, "stage", _lanes.SCOPE), STAGE_OF_LANES
    task = Reach(swinger, ("B", (0.55, 0.0)), "A")
    source, scope = _single._source(task.mode, task.aim(costs=False)[0], "leapfrog", stops=task.stops)
    yield emitted(source, "move", scope), _single.MOVE


@lru_cache(maxsize=1)
def roots():
    """Every function that is compiled to an entry point, with the kind of its arguments."""
    found = [(_program.advance, ADVANCE), (_program.sample, SOME), (_program.transition, SOME)]
    found += [(mathematics, SOME), (_program.many, SOME), (_program.wide, SOME), (_lanes.roll, SOME)]
    parts = (_program.flow_part, _program.choose_part, _program.impact_part, _program.screen_part, _program.locate_part)
    found += [(part, PART) for part in parts]
    for method in ("dopri5", "dop853"):
        found.append((_tableau.step_part(_tableau.find_method(method), 7, carried=True), PART))
    found += [(_impulses.kick, _impulses.KICK), (_sweeps.reach, _sweeps.SWEEP_KIND)]
    found.append((_sweeps.random_actions, _sweeps.SWEEP_KIND))
    for info in pkgutil.iter_modules(laws.__path__):
        law = importlib.import_module(f"saltus.contact.laws.{info.name}")
        found += [(getattr(law, name), LAW) for name in ("impulse", "impulse_in_space") if hasattr(law, name)]
    for module in modules():
        for value in vars(module).values():
            if isinstance(value, FunctionType) and value.__module__ == module.__name__:
                arguments = tuple(inspect.signature(value).parameters)
                if arguments == CONTROL_ARGUMENTS:
                    found.append((value, CONTROL))
                if arguments == FIGURE_ARGUMENTS:
                    found.append((value, FIGURES))
    return [*found, *kernels()]


@lru_cache(maxsize=1)
def users():
    """Functions that compiled code uses, each with the entry points that use it."""
    made = {}
    for root in roots():
        for function in functions_reached(root[0]):
            made.setdefault(function, []).append(root)
    return {function: using for function, using in made.items() if _in_package(function)}


def _in_package(function):
    return PACKAGE in Path(function.__code__.co_filename).parents


def decorated():
    """Functions of the sources that are marked as compiled or as intrinsics, found by reading the files."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                marks = {getattr(mark, "id", "") for mark in node.decorator_list}
                if marks & {"compiled", "intrinsic"}:
                    yield path, min([node.lineno, *(mark.lineno for mark in node.decorator_list)]), node.name


@lru_cache(maxsize=256)
def functions_of(path):
    """Functions of a file, each with the statement at the top of the file that it is in; and the file's imports."""
    found, whole = {}, ast.parse(Path(path).read_text()).body
    for top in whole:
        for node in ast.walk(top):
            if _defines(node):
                first = min([node.lineno, *(mark.lineno for mark in node.decorator_list)])
                found[first, node.name] = top
    # how an attribute is read depends on whether it is one of what was imported
    return found, [top for top in whole if isinstance(top, (ast.Import, ast.ImportFrom))]


def edited(function, edit):
    """The code of a function after an edit of a copy of its source."""
    code = function.__code__
    place = code.co_firstlineno, code.co_name
    functions, imports = functions_of(code.co_filename)
    top = copy.deepcopy(functions[place])
    for node in ast.walk(top):
        if _defines(node) and node.name == code.co_name:
            if min([node.lineno, *(mark.lineno for mark in node.decorator_list)]) == code.co_firstlineno:
                edit(node)
    whole = ast.fix_missing_locations(ast.Module([*imports, top], []))
    return _inside(compile(whole, code.co_filename, "exec", dont_inherit=True), *reversed(place))


def _defines(node):
    return isinstance(node, ast.FunctionDef)


def _inside(code, name, line):
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if constant.co_name == name and constant.co_firstlineno == line:
                return constant
            found = _inside(constant, name, line)
            if found is not None:
                return found
    return None


@contextlib.contextmanager
def with_code(function, code):
    before = function.__code__
    function.__code__ = code
    try:
        yield
    finally:
        function.__code__ = before


def _statement(node):
    """One more statement, after the docstring."""
    node.body.insert(1 if ast.get_docstring(node, clean=False) is not None else 0, ast.parse("_edited = 1.5").body[0])


def _inner_statement(node):
    for inner in ast.walk(node):
        if _defines(inner) and inner is not node:
            _statement(inner)


def _words(node):
    """Another docstring, and one where there was none."""
    text = ast.Expr(ast.Constant("Other words."))
    if ast.get_docstring(node, clean=False) is not None:
        node.body[0] = text
    else:
        node.body.insert(0, text)


def test_every_function_of_compiled_code_is_found():
    found = {(function.__code__.co_filename, function.__code__.co_firstlineno) for function in users()}
    missing = [name for path, line, name in decorated() if (str(path), line) not in found]
    # these are decorated inside a function that makes several of them, which is found in their place
    assert set(missing) <= {"mark", "read", "move", "at"}, missing
    assert len(found) > 300


def test_an_edit_of_any_function_changes_the_keys_of_all_that_use_it():
    before = {root[0]: entry_key(*root) for root in roots()}
    assert None not in before.values()
    for function, using in users().items():
        for edit in (_statement, _inner_statement):
            code = edited(function, edit)
            if code_key(code) == code_key(function.__code__):
                assert edit is _inner_statement  # there was no inner function
                continue
            with with_code(function, code):
                for root in (using[0], using[-1]):
                    assert entry_key(*root) != before[root[0]], (function.__qualname__, root[0].__qualname__)


@pytest.fixture
def how_anew():
    """How functions are compiled is looked at once in a process; here it is looked at again."""
    yield _native._how.cache_clear
    _native._how.cache_clear()


@pytest.mark.parametrize(
    "way", ["_only_for_linking", "_link_only", "_with_own_math", "compiled", "own_math", "__init__"]
)
def test_an_edit_of_how_functions_are_compiled_changes_every_key(way, how_anew):
    one = _native.Entry.__init__ if way == "__init__" else getattr(_native, way)
    before = [entry_key(*root) for root in roots()[:8]]
    with with_code(one, edited(one, _statement)):
        how_anew()
        assert all(entry_key(*root) != old for root, old in zip(roots()[:8], before, strict=True))
    how_anew()
    assert [entry_key(*root) for root in roots()[:8]] == before


@pytest.mark.parametrize("options", [{"error_model": "python"}, {"fastmath": True}, {"boundscheck": True}])
def test_other_options_of_the_compiler_change_every_key(options, how_anew, monkeypatch):
    before = [entry_key(*root) for root in roots()[:8]]
    monkeypatch.setattr(_native, "OPTIONS", _native.OPTIONS | options)
    how_anew()
    assert all(entry_key(*root) != old for root, old in zip(roots()[:8], before, strict=True))


def test_one_function_for_other_arguments_has_another_key():
    function, kind = roots()[0]
    assert entry_key(function, kind) != entry_key(function, PART)


def test_an_edit_of_words_and_places_changes_no_key():
    before = {root[0]: entry_key(*root) for root in roots()}
    for function, using in users().items():
        code = edited(function, _words).replace(co_filename="elsewhere.py", co_firstlineno=7)
        with with_code(function, code):
            assert entry_key(*using[0]) == before[using[0][0]], function.__qualname__


def constants():
    """Numbers of modules that compiled code reads, found by `dis`, each with an entry point that reads it."""
    for function, using in users().items():
        steps = list(dis.get_instructions(function))
        for one, two in itertools.pairwise(steps):
            if one.opname != "LOAD_GLOBAL":
                continue
            scope, name = function.__globals__, one.argval
            value = scope.get(name)
            if isinstance(value, ModuleType) and two.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                if not value.__name__.startswith("saltus"):
                    continue
                scope, name = vars(value), two.argval
                value = scope.get(name)
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                yield scope, name, value, using[0]


def test_another_value_of_any_number_that_is_read_changes_the_key():
    seen = {}
    for scope, name, value, root in constants():
        seen.setdefault((id(scope), name), (scope, name, value, root))
    assert len(seen) > 300
    before = {root[0]: entry_key(*root) for root in roots()}
    for scope, name, value, root in seen.values():
        scope[name] = value + 1 if math.isfinite(value) and value + 1 != value else 2.0
        try:
            assert entry_key(*root) != before[root[0]], name
        finally:
            scope[name] = value


def test_instructions_are_those_of_dis():
    skipped = {"CACHE", "EXTENDED_ARG"}
    for function in [*users(), *(root[0] for root in roots())]:
        steps = [step for step in dis.get_instructions(function) if step.opname not in skipped]
        got = list(_instructions(function.__code__))
        assert [operation for operation, _ in got] == [step.opcode for step in steps]
        with_arguments = [argument for operation, argument in got if operation >= dis.HAVE_ARGUMENT]
        assert with_arguments == [step.arg for step in steps if step.opcode >= dis.HAVE_ARGUMENT]


KEYS = """
from saltus._native import ADVANCE, CONTROL, PART, entry_key
from saltus.control import _energy_law
from saltus.engine import _program
for function, kind in ((_program.advance, ADVANCE), (_program.flow_part, PART), (_energy_law.law, CONTROL)):
    print(entry_key(function, kind))
"""


def keys_in(folder):
    settings = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", KEYS], env=settings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:3]


@pytest.fixture
def package_copy(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "saltus", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def test_a_file_that_moves_takes_its_keys_along(package_copy):
    """Comments, docstrings and files that are not used are edited, too; and then one line that counts."""
    package = package_copy / "saltus"
    before = keys_in(package_copy)
    (package / "engine" / "deeper").mkdir()
    (package / "engine" / "deeper" / "__init__.py").touch()
    (package / "engine" / "_stepsize.py").rename(package / "engine" / "deeper" / "_stepsize.py")
    for path in package.rglob("*.py"):
        text = path.read_text()
        if "saltus.engine._stepsize" in text:
            path.write_text(text.replace("saltus.engine._stepsize", "saltus.engine.deeper._stepsize"))
    for name in ("engine/_audit.py", "engine/_loop.py", "_sincos.py", "control/pd.py"):
        path = package / name
        path.write_text("# a comment\n" + path.read_text().replace('):\n    """', '):\n    """Other words. '))
    (package / "engine" / "_audit.py").write_text((package / "engine" / "_audit.py").read_text() + "\nUNUSED = 3\n")
    assert keys_in(package_copy) == before
    path = package / "_sincos.py"
    path.write_text(path.read_text().replace("half = 0.5 * z", "half = 0.5 * z + 0.0"))
    # the loop calls its parts by address, and has no sine of its own
    assert [new == old for new, old in zip(keys_in(package_copy), before, strict=True)] == [True, False, False]


HEAD = "def law(t, x, status, memory, p, data, piece, u, request):\n"
CALLS = f"{HEAD}    u[0] = f(x[0])\n    return 0\n"
# Sources with VALUE in a place that bytecode does not show, and two things that may stand there.
HIDDEN = {
    "options": (f"import numba\n@numba.njit(VALUE)\ndef f(x):\n    return x / (x - x)\n{CALLS}", "", "fastmath=True"),
    "error model": (
        f"import numba\n@numba.njit(error_model=VALUE)\ndef f(x):\n    return 1 / x\n{CALLS}", "'numpy'", "'python'",
    ),
    "own or numba's": (
        f"import numba\nfrom saltus._native import compiled\n@VALUE\ndef f(x):\n    return x\n{CALLS}",
        "compiled", "numba.njit(error_model='numpy')",
    ),
    "signature": (f"import numba\n@numba.njit(VALUE)\ndef f(x):\n    return x\n{CALLS}", "'f8(f8)'", "'f8(f4)'"),
    "member": (
        "from enum import Enum\nclass Gain(Enum):\n    HIGH = VALUE\n"
        f"{HEAD}    u[0] = Gain.HIGH.value * x[0]\n    return 0\n", "1.0", "2.0",
    ),
    "whole member": (
        "from enum import IntEnum\nclass Gain(IntEnum):\n    HIGH = VALUE\nG = Gain.HIGH\n"
        f"{HEAD}    u[0] = G\n    return 0\n",
        "1", "2",
    ),
    "order of fields": (
        "from collections import namedtuple\nG = namedtuple('G', VALUE)(1.0, 2.0)\n"
        f"{HEAD}    u[0] = G.a\n    return 0\n",
        "'a b'", "'b a'",
    ),
    "class": (f"class C:\n    A = VALUE\n{HEAD}    u[0] = C.A\n    return 0\n", "1.0", "2.0"),
    "layout": (
        "import numpy as np\nA = np.array([[1.0, 2.0], [3.0, 4.0]], order=VALUE)\n"
        f"{HEAD}    u[0] = A.sum()\n    return 0\n", "'C'", "'F'",
    ),
    "math in a cell": (
        "def make():\n    import math\n    def law(t, x, status, memory, p, data, piece, u, request):\n"
        "        u[0] = math.VALUE(x[0])\n        return 0\n    return law\nlaw = make()\n", "sin", "cos",
    ),
    "text without a module": (f"{HEAD}    u[0] = VALUE * x[0]\n    return 0\n", "1.0", "5.0"),
    "of another text": (f"def f(x):\n    return VALUE * x\n{CALLS}", "1.0", "5.0"),
}  # fmt: skip


def made_of(source, value):
    """The law of a source, made as a notebook or a program makes it: its functions have no module."""
    scope = {}
    exec(source.replace("VALUE", value), scope)
    return scope["law"]


@pytest.mark.parametrize("name", HIDDEN)
def test_what_is_not_in_the_bytecode_of_a_law_counts_too(name):
    source, one, other = HIDDEN[name]
    keys = [entry_key(made_of(source, value), CONTROL) for value in (one, one, other)]
    assert None not in keys
    assert keys[0] == keys[1] != keys[2]


@pytest.mark.parametrize(
    "source",
    [
        f"class C:\n    'Words of VALUE.'\n    A = 1.0\n{HEAD}    u[0] = C.A\n    return 0\n",
        f"class C:\n    B: VALUE = 0\n    A = 1.0\n{HEAD}    u[0] = C.A\n    return 0\n",
        f"class C:\n    __module__ = 'VALUE'\n    A = 1.0\n{HEAD}    u[0] = C.A\n    return 0\n",
    ],
)
def test_words_types_and_the_module_of_a_class_count_for_nothing(source):
    one, other = (entry_key(made_of(source, value), CONTROL) for value in ("int", "float"))
    assert None is not one == other


UNKNOWN = {
    "a compiled C function, whose address is of one process": (
        f"import numba\n@numba.cfunc('float64(float64)')\ndef f(x):\n    return x\n{CALLS}"
    ),
    "an implementation for numba": (
        "from numba.extending import overload\ndef f(x):\n    pass\n@overload(f)\ndef _f(x):\n    return lambda x: x\n"
        f"{CALLS}"
    ),
    "a function that numba may call": (
        f"from numba.extending import register_jitable\n@register_jitable\ndef f(x):\n    return x\n{CALLS}"
    ),
    "a compiled class": (
        "import numba\nfrom numba.experimental import jitclass\n@jitclass([('a', numba.float64)])\nclass C:\n"
        f"    def __init__(self, a):\n        self.a = a\n{HEAD}    u[0] = C(x[0]).a\n    return 0\n"
    ),
    "a function of arrays": f"import numba\n@numba.vectorize\ndef f(x):\n    return x\n{CALLS}",
    "a function in C": f"import ctypes\nf = ctypes.CDLL(None).cos\n{CALLS}",
    "a module in a variable": f"import numpy\ndef f(x):\n    module = numpy\n    return module.sin(x)\n{CALLS}",
    "an object": f"class C:\n    pass\nC.f = C()\n{HEAD}    u[0] = C.f.a\n    return 0\n",
    "a name that is not there": f"{HEAD}    u[0] = nowhere\n    return 0\n",
    "a list in itself": f"A = []\nA.append(A)\n{HEAD}    u[0] = len(A)\n    return 0\n",
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_cannot_be_followed_gives_no_key(name):
    assert entry_key(made_of(UNKNOWN[name], ""), CONTROL) is None


def test_an_attribute_that_somebody_implements_for_numba_gives_no_key():
    source = f"{HEAD}    u[0] = x[0].attribute_for_a_test\n    return 0\n"
    assert entry_key(made_of(source, ""), CONTROL) is not None

    @overload_attribute(types.Float, "attribute_for_a_test")
    def attribute(x):
        return lambda x: 2.0 * x

    assert entry_key(made_of(source, ""), CONTROL) is None


def test_a_library_function_that_somebody_else_implements_for_numba_gives_no_key():
    source = f"import operator\n{HEAD}    u[0] = operator.length_hint(x)\n    return 0\n"
    assert entry_key(made_of(source, ""), CONTROL) is not None

    @overload(operator.length_hint)
    def length_hint(x):
        return lambda x: 3

    assert entry_key(made_of(source, ""), CONTROL) is None
