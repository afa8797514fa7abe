"""The functions of compiled code that stand for those of `math`: accuracy, and values at the ends of their domains."""

from __future__ import annotations

import ctypes
import json
import math
from pathlib import Path

import numpy as np
import pytest
from numba import types
from numba.core.typing.mathdecl import registry as math_registry

from saltus import _math
from saltus._closure import own_math
from saltus._native import DOUBLES, KERNEL, compile_entry, ctypes_entry, pointer_to
from saltus.errors import CompileError

RANDOM = np.random.default_rng(11)
# Units in the last place from the C library, whose own error is below one. The error function sums up to forty terms.
ONE_ARGUMENT = {
    "sin": 2, "cos": 2, "tan": 3, "exp": 2, "expm1": 2, "log": 2, "log1p": 2, "log2": 3, "log10": 3, "atan": 2,
    "asin": 2, "acos": 2, "sinh": 3, "cosh": 3, "tanh": 3, "asinh": 4, "acosh": 4, "atanh": 4, "erf": 16,
    "exp2": 2,
}  # fmt: skip
# Of these, Python's own are a few units off too. Below zero, a logarithm of gamma is the difference of two larger ones.
SPECIAL_FUNCTIONS = {"erfc": 4, "gamma": 5, "lgamma": 7}
EXACT_VALUES = json.loads((Path(__file__).parent / "special.json").read_text())
TWO_ARGUMENTS = {"atan2": 2, "pow": 2, "hypot": 2}
SPECIAL = (
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 5e-324, -5e-324, 1e-310, 1e-20, 1e300, -1e300, 1.7e308, 2.0**53 + 2,
    math.inf, -math.inf, math.nan,
)  # fmt: skip


def every(x, y, out, n):
    for k in range(int(n[0])):
        a, b, at = x[k], y[k], 26 * k
        out[at + 0], out[at + 1], out[at + 2] = math.sin(a), math.cos(a), math.tan(a)
        out[at + 3], out[at + 4], out[at + 5] = math.exp(a), math.expm1(a), math.log(a)
        out[at + 6], out[at + 7], out[at + 8] = math.log1p(a), math.log2(a), math.log10(a)
        out[at + 9], out[at + 10], out[at + 11] = math.atan(a), math.asin(a), math.acos(a)
        out[at + 12], out[at + 13], out[at + 14] = math.sinh(a), math.cosh(a), math.tanh(a)
        out[at + 15], out[at + 16], out[at + 17] = math.asinh(a), math.acosh(a), math.atanh(a)
        out[at + 18], out[at + 19] = math.erf(a), math.exp2(a)
        out[at + 20], out[at + 21], out[at + 22] = math.atan2(a, b), math.pow(a, b), math.hypot(a, b)
        out[at + 23], out[at + 24], out[at + 25] = math.erfc(a), math.gamma(a), math.lgamma(a)
    return 0


NAMES = [*ONE_ARGUMENT, *TWO_ARGUMENTS, *SPECIAL_FUNCTIONS]


@pytest.fixture(scope="module")
def values():
    """All functions of pairs of numbers, as compiled code has them: a dictionary of arrays."""
    entry = compile_entry(every, types.int32(*[DOUBLES] * 4), "test-math")
    call = ctypes_entry(entry, ctypes.c_int32, [ctypes.c_void_p] * 4)

    def evaluate(x, y):
        out, n = np.full((len(x), len(NAMES)), np.nan), np.array([float(len(x))])
        assert call(pointer_to(x), pointer_to(y), pointer_to(out), pointer_to(n)) == 0
        return dict(zip(NAMES, out.T, strict=True))

    return evaluate


def libm(name, *arguments):
    """The C library's answer; where Python raises an error instead, what C gives."""
    try:
        return getattr(math, name)(*arguments)
    except OverflowError:
        if name == "sinh":
            return math.copysign(math.inf, arguments[0])
        if name == "gamma":
            return math.copysign(math.inf, arguments[0])
        odd = name == "pow" and arguments[0] < 0 and math.fmod(arguments[1], 2.0) in (1.0, -1.0)
        return -math.inf if odd else math.inf
    except ValueError:
        if arguments[0] == {"log": 0, "log2": 0, "log10": 0, "log1p": -1}.get(name):
            return -math.inf
        if name == "lgamma":
            return math.inf
        if name == "gamma" and arguments[0] == 0:
            return math.copysign(math.inf, arguments[0])
        if name == "atanh" and abs(arguments[0]) == 1:
            return math.copysign(math.inf, arguments[0])
        if name == "pow" and arguments[0] == 0:
            odd = math.fmod(arguments[1], 2.0) in (1.0, -1.0)
            return math.copysign(math.inf, arguments[0]) if odd else math.inf
        return math.nan


def distance(a, b):
    """How far two numbers are from each other, in units in the last place."""
    if math.isnan(a) or math.isnan(b) or math.isinf(a) or math.isinf(b):
        return 0.0 if a == b or (math.isnan(a) and math.isnan(b)) else math.inf
    return abs(a - b) / math.ulp(b)


def pairs():
    """Ordinary numbers, small ones, large ones, near one, and exponents that matter for powers."""
    n = 4000
    x = np.concatenate([
        RANDOM.uniform(-1, 1, n), RANDOM.uniform(-30, 30, n),
        RANDOM.normal(size=n) * 10.0 ** RANDOM.uniform(-300, 300, n),
        1 + RANDOM.normal(size=n) * 10.0 ** RANDOM.uniform(-16, -1, n), RANDOM.uniform(-720, 720, n),
    ])  # fmt: skip
    y = np.concatenate([
        RANDOM.uniform(-1, 1, n), RANDOM.integers(-20, 20, n).astype(float), RANDOM.uniform(-1.1, 1.1, n),
        RANDOM.normal(size=n) * 10.0 ** RANDOM.uniform(0, 15, n), RANDOM.uniform(-110, 110, n),
    ])  # fmt: skip
    return x, y


@pytest.mark.parametrize("name", [*ONE_ARGUMENT, *TWO_ARGUMENTS])
def test_values_are_those_of_the_c_library_but_for_the_last_places(values, name):
    x, y = pairs()
    got = values(x, y)[name]
    allowed = {**ONE_ARGUMENT, **TWO_ARGUMENTS}[name]
    for a, b, value in zip(x.tolist(), y.tolist(), got.tolist(), strict=True):
        other = libm(name, a) if name in ONE_ARGUMENT else libm(name, a, b)
        assert distance(value, other) <= allowed, (a, b, value, other)


@pytest.mark.parametrize("name", NAMES)
def test_values_at_the_ends_of_their_domains(values, name):
    x, y = (np.array(side) for side in zip(*((a, b) for a in SPECIAL for b in SPECIAL), strict=True))
    got = values(x, y)[name]
    for a, b, value in zip(x.tolist(), y.tolist(), got.tolist(), strict=True):
        other = libm(name, a, b) if name in TWO_ARGUMENTS else libm(name, a)
        assert distance(value, other) <= 4, (a, b, value, other)
        if value == 0.0:
            assert math.copysign(1, value) == math.copysign(1, other), (a, b)


ROUNDED = (0.0, 0.5, -0.5, 1.0, -1.0, 2.5, -2.5, 1e15 + 0.5, -4503599627370497.5, 2.0**61, -(2.0**61))
WITHOUT_ROOM = {2.0**62: 2**62, 1e300: 2**62, math.inf: 2**62, -1e19: -(2**62), -math.inf: -(2**62), math.nan: 0}


@pytest.mark.parametrize("name", ["floor", "ceil", "trunc"])
def test_whole_numbers_are_those_of_python_and_defined_where_an_integer_has_no_room(name):
    scope = {"math": math}
    source = (
        f"def rounds(t, x, u, p, out):\n    for k in range(20):\n        out[k] = math.{name}(x[k])\n    return 0\n"
    )
    exec(source, scope)
    entry = compile_entry(scope["rounds"], KERNEL, f"rounds-{name}")
    call = ctypes_entry(entry, ctypes.c_int32, [ctypes.c_double] + [ctypes.c_void_p] * 4)
    x, out = np.zeros(20), np.zeros(20)
    x[: len(ROUNDED)], x[len(ROUNDED) : len(ROUNDED) + len(WITHOUT_ROOM)] = ROUNDED, list(WITHOUT_ROOM)
    assert call(0.0, pointer_to(x), 0, 0, pointer_to(out)) == 0
    wanted = [getattr(math, name)(value) for value in ROUNDED] + list(WITHOUT_ROOM.values())
    assert out[: len(wanted)].tolist() == wanted


def test_functions_that_are_exact_everywhere_stay_those_of_math():
    assert own_math(math) is _math
    assert own_math(math.sqrt) is math.sqrt
    assert own_math(math.exp) is _math.exp
    assert own_math(len) is len


@pytest.mark.parametrize("name", EXACT_VALUES)
def test_values_are_those_of_arithmetic_with_sixty_digits(values, name):
    """`special.json` has values by mpmath [johansson2013], rounded to doubles."""
    x, exact = (np.array(side) for side in zip(*EXACT_VALUES[name], strict=True))
    for a, value, other in zip(x.tolist(), values(x, x)[name].tolist(), exact.tolist(), strict=True):
        assert distance(value, other) <= {**ONE_ARGUMENT, **SPECIAL_FUNCTIONS}[name], (a, value, other)


def test_factorials_are_exact(values):
    """As long as they have no more than 53 bits, but for powers of two."""
    n = np.arange(1.0, 24.0)
    assert values(n, n)["gamma"].tolist() == [float(math.factorial(int(k) - 1)) for k in n]


def test_the_logarithm_of_gamma_below_zero_is_as_exact_as_its_parts(values):
    x = RANDOM.uniform(-30, 0, 2000)
    for a, value in zip(x.tolist(), values(x, x)["lgamma"].tolist(), strict=True):
        # both this and Python's own are a few units of the larger part off
        assert abs(value - math.lgamma(a)) <= 10 * math.ulp(max(math.lgamma(1 - a), abs(value), 1.0)), a


@pytest.mark.parametrize("call", ["math.fsum(x[0])", "math.cbrt(t)", "cbrt(t)"])
def test_functions_without_a_version_of_their_own_are_refused_by_name(call):
    scope = {"math": math, "cbrt": math.cbrt}
    exec(f"def kernel(t, x, u, p, out):\n    out[0] = {call}\n    return 0\n", scope)
    with pytest.raises(CompileError, match=r"math\.(fsum|cbrt) would differ from processor to processor"):
        compile_entry(scope["kernel"], KERNEL, "refused")


def test_a_function_that_is_not_called_is_not_refused():
    scope = {"fsum": math.fsum}
    exec("def kernel(t, x, u, p, out):\n    out[0] = t\n    return 0\n", scope)
    assert compile_entry(scope["kernel"], KERNEL, "not-refused").place != 0


def test_no_function_of_math_that_numba_knows_comes_from_the_c_library():
    """But for those that are defined to the bit."""
    known = {value.__name__ for value, _ in math_registry.globals if getattr(value, "__module__", "") == "math"}
    assert len(known) > 30
    assert known - set(vars(_math)) <= set(_math.EXACT)
