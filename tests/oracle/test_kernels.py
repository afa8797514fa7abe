"""Compiled kernels against CasADi's evaluation of the same model, and the inlined sincos against exact values."""

from __future__ import annotations

import ctypes
import decimal
import math
import sys
from decimal import Decimal

import casadi as ca
import numpy as np
import pytest

from saltus._native import KERNEL, compile_entry
from saltus._sincos import LANE_LIMIT, lane_sincos, sincos
from saltus.engine._emit import _BINARY, _UNARY, SCOPE, emit
from saltus.engine._program import kernel_sources, program
from saltus.engine._straight import straight
from saltus.mechanism import Velocity, position_of
from saltus.robots import find_robot, robot_names

SEEDS = range(5)
KERNEL_NAMES = ("free", "terms", "gaps", "energy")


def call(address, t, x, u, p, size):
    """Call a kernel by address, as the engine does; returns its status and its output."""
    arrays = [np.array(values, dtype=float).ravel() for values in (x, u, p)]
    out = np.full(size + 1, np.nan)  # one more, to see that it writes no further
    pointers = [array.ctypes.data for array in arrays]
    function = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_double, *[ctypes.c_void_p] * 4)(address)
    status = function(t, *pointers, out.ctypes.data)
    assert np.isnan(out[size]), "a kernel wrote beyond its output"
    return status, out[:size]


# -- kernels -----------------------------------------------------------------------------------


def random_inputs(system, seed):
    random = np.random.default_rng(seed)
    m = system.mechanism
    x, u = random.uniform(-3, 3, m.nq + m.nv), random.uniform(-2, 2, len(m.actuators))
    p = []
    for value, parameter in zip(system.parameter_values, m.parameters.values(), strict=True):
        spread = value * random.uniform(0.8, 1.2) if value else random.uniform(0.0, 0.3)
        p.append(min(max(spread, parameter.lower), parameter.upper))
    return random.uniform(0, 5), x, u, np.array(p)


def evaluate(system, expression, t, x, u, p):
    d = system.dynamics
    return np.array(ca.Function("f", [d.t, d.x, d.u, d.p], [ca.SX(expression)])(t, x, u, p))


def expected_outputs(system, *inputs):
    """What each kernel should write, from M, h and the units' positions by dense linear algebra."""
    d = system.dynamics

    def value(expression):
        return evaluate(system, expression, *inputs)

    nv = system.mechanism.nv
    M, v, f = value(d.M), value(d.v).ravel(), value(d.S) @ inputs[2] - value(d.h).ravel() - value(d.damping).ravel()
    acceleration = np.linalg.solve(M, f)
    rows = [row for unit in system.units for _, row in unit.rows]
    positions = [ca.SX(position_of(row)) for row in rows]
    if positions:
        speeds = [row.velocity if isinstance(row, Velocity) else ca.jtimes(row, d.q, d.qdot) for row in rows]
        stacked = ca.vertcat(*speeds)
        J = value(ca.jacobian(stacked, d.v))
        drift = value(ca.jtimes(stacked, d.q, d.qdot)).ravel()
    else:
        J, drift = np.zeros((0, nv)), np.zeros(0)
    MJ = np.linalg.solve(M, J.T)
    power_in, power_lost = (value(d.S) @ inputs[2]) @ v, value(d.damping).ravel() @ v
    free = np.concatenate([value(d.qdot).ravel(), acceleration, [power_in, power_lost]])
    places = [value(position).item() for position in positions]
    reach = [value(ca.SX(unit.reach)).item() for unit in system.units]
    guards = [value(guard.expression).item() for guard in system.guards]
    slope = value(ca.gradient(d.kinetic + d.potential, d.x)).ravel()
    pushed = np.abs(value(d.S) @ inputs[2]).sum() * np.abs(value(d.q)).sum()
    sizes = [np.abs(slope * inputs[1]).sum(), np.abs(slope).sum(), pushed]
    moved = [(value(d.N) @ MJ).T.ravel()] if system.mechanism.quaternions else []
    energies = [0.5 * v @ M @ v, value(d.potential).item(), *sizes]
    return {
        "free": free,
        "terms": np.concatenate([free, MJ.T.ravel(), (J @ MJ).ravel(), J @ acceleration + drift, J @ v, *moved]),
        "gaps": np.concatenate([places, J @ v, reach, guards]),
        "energy": np.array(energies),
    }


@pytest.mark.parametrize("kernel", KERNEL_NAMES)
@pytest.mark.parametrize("name", robot_names())
def test_kernel_agrees_with_casadi(name, kernel):
    system = find_robot(name)
    made = program(system)
    if kernel == "terms" and not system.units:
        assert kernel not in made.kernels
        return
    for seed in SEEDS:
        inputs = random_inputs(system, seed)
        expected = expected_outputs(system, *inputs)[kernel]
        status, got = call(made.address(kernel), *inputs, expected.size)
        assert status == 0
        np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-11 * (1 + np.abs(expected).max(initial=0.0)))


@pytest.mark.parametrize("name", robot_names())
def test_kernel_sources_are_those_compiled(name):
    system = find_robot(name)
    assert program(system).sources == kernel_sources(system)


@pytest.mark.parametrize("name", robot_names())
def test_parameters_are_inputs_of_the_kernels(name):
    system = find_robot(name)
    upper = {key: parameter.upper for key, parameter in system.mechanism.parameters.items()}
    other = system.with_parameters(
        **{key: min(1.01 * value, upper[key]) for key, value in system.values.items() if value > 0}
    )
    assert other.values != system.values
    assert kernel_sources(other) == kernel_sources(system)
    assert program(other).address("free") == program(system).address("free")


def test_kernel_refuses_a_mass_matrix_that_is_not_positive_definite():
    system = find_robot("double_pendulum")
    t, x, u, p = random_inputs(system, 0)
    p[list(system.mechanism.parameters).index("m2")] = -5.0
    assert call(program(system).address("free"), t, x, u, p, 2 * system.mechanism.nv + 2)[0] == 1


# -- every operation of the emitter --------------------------------------------------------------


def compile_expressions(expressions, inputs):
    source = emit("every_operation", inputs, ca.vertcat(*expressions))
    return compile_entry(straight(source, SCOPE), KERNEL, "every-operation")


def compile_by_numba(source, name):
    scope = dict(SCOPE)
    exec(source, scope)
    return compile_entry(scope[name], KERNEL, f"{name}-by-numba")


def test_every_operation_of_the_emitter():
    t, x, u, p = ca.SX.sym("t"), ca.SX.sym("x", 2), ca.SX.sym("u", 1), ca.SX.sym("p", 1)
    labels, expressions = [], []
    for op in (*_UNARY, ca.OP_SIN, ca.OP_COS):
        labels.append(f"unary {op}")
        expressions.append(ca.SX.unary(op, x[0]))
    for op in _BINARY:
        second = 3 if op == ca.OP_CONSTPOW else x[1]
        labels.append(f"binary {op}")
        expressions.append(ca.SX.binary(op, x[0], second))
    labels += ["time", "input", "parameter", "constant", "branch"]
    expressions += [t * 2, u[0] + 1, p[0] - 1, ca.SX(0.1), ca.if_else(x[0] < x[1], ca.sin(x[0]), ca.sqrt(x[1]))]
    entry = compile_expressions(expressions, (t, x, u, p))
    oracle = ca.Function("oracle", [t, x, u, p], [ca.vertcat(*expressions)])
    random = np.random.default_rng(1)
    # arguments inside every domain, either order, equal, zero and, where CasADi gives NaN, so must we
    pairs = [*random.uniform(0.05, 0.95, (20, 2)), (0.3, 0.3), (0.0, 0.5), (0.0, 0.0), *random.uniform(-3, 3, (20, 2))]
    for first, second in pairs:
        inputs = (0.7, [first, second], [1.5], [-2.5])
        expected = np.array(oracle(*inputs)).ravel()
        status, got = call(entry.place, *inputs, len(expressions))
        assert status == 0
        for label, a, b in zip(labels, got, expected, strict=True):
            assert a == pytest.approx(b, rel=4e-15, abs=1e-300, nan_ok=True), (label, first, second)


@pytest.mark.parametrize(("name", "kernel"), [("hopper", "terms"), ("bouncing_ball", "sizes"), ("brachiator", "gaps")])
def test_a_kernel_has_the_bits_of_the_same_source_compiled_by_numba(name, kernel):
    system = find_robot(name)
    source = kernel_sources(system)[kernel]
    count = source.count("\n    out[")
    entry = compile_by_numba(source, kernel)
    for seed in range(20):
        inputs = random_inputs(system, seed)
        got = call(program(system).address(kernel), *inputs, count)
        by_numba = call(entry.place, *inputs, count)
        assert got[0] == by_numba[0] == 0
        assert got[1].tobytes() == by_numba[1].tobytes()


# -- sincos ------------------------------------------------------------------------------------

decimal_context = decimal.Context(prec=60)
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798")


def exact_sincos(x):
    """Sine and cosine to fifty digits: reduction by the digits of pi, then Taylor's series."""
    with decimal.localcontext(decimal_context):
        quarters = int((Decimal(x) / (PI / 2)).to_integral_value())
        return exact_from(Decimal(x) - quarters * PI / 2, quarters)


def exact_from(r, quarters):
    """Of a rest and a number of quarters of a turn."""
    with decimal.localcontext(decimal_context):
        sine, cosine = taylor(r, 1, r * r), taylor(Decimal(1), 0, r * r)
        return ((sine, cosine), (cosine, -sine), (-sine, -cosine), (-cosine, sine))[quarters % 4]


def taylor(term, power, square):
    total = term
    while term and abs(term) > abs(total) * Decimal("1e-50"):
        term = -term * square / ((power + 1) * (power + 2))
        power += 2
        total += term
    return total


def many(t, x, u, p, out):
    for i in range(int(t)):
        out[2 * i], out[2 * i + 1] = sincos(x[i])
    return 0


@pytest.fixture(scope="module")
def compiled_sincos():
    entry = compile_entry(many, KERNEL, "sincos-many")

    def evaluate_all(values):
        return call(entry.place, float(len(values)), values, [], [], 2 * len(values))[1].reshape(-1, 2)

    return evaluate_all


def around(x):
    return [math.nextafter(x, -math.inf), x, math.nextafter(x, math.inf)]


def sincos_arguments():
    random = np.random.default_rng(3)
    yield from random.uniform(-8, 8, 1500)
    yield from random.uniform(-1e5, 1e5, 1500)
    yield from (sign * 10.0**-k for k in range(0, 320, 8) for sign in (1, -1))
    # near multiples of pi/2 one of the two nearly vanishes; at odd multiples of pi/4 the reduction changes side
    multiples = [*range(-40, 41), *(int(k) for k in random.integers(-63661, 63662, 400))]
    for k in multiples:
        yield from around(float(PI / 2 * k))
        yield from around(float(PI / 4 * k))


def test_sincos_is_within_one_unit_in_the_last_place(compiled_sincos):
    arguments = [float(x) for x in sincos_arguments() if abs(x) < 1e5]
    for x, got in zip(arguments, compiled_sincos(arguments), strict=True):
        for value, exact in zip(got, exact_sincos(x), strict=True):
            error = abs(Decimal(float(value)) - exact) / Decimal(math.ulp(float(exact)))
            assert error <= 1, (x, value, float(error))


def far_arguments():
    random = np.random.default_rng(5)
    yield from (1e5, -1e5, 123456.789, 1234567.89, -87654321.0, 987654321.0, 1e10, -1e22, 1e300, sys.float_info.max)
    yield from (float(2.0**k) for k in range(17, 1024, 13))
    for k in random.integers(17, 1023, 500):
        yield float(random.uniform(-1, 1) * 2.0**k)
    # of all doubles, this is the nearest to a multiple of pi/2 [muller2018, 11.3]
    yield from around(math.ldexp(6381956970095103.0, 797))


def long_pi(digits):
    """Pi by the arithmetic-geometric mean [brent1976]."""
    with decimal.localcontext(decimal.Context(prec=digits + 10)):
        a, b, t, p = Decimal(1), 1 / Decimal(2).sqrt(), Decimal("0.25"), 1
        while abs(a - b) > Decimal(10) ** -digits:
            mean = (a + b) / 2
            b, t, a, p = (a * b).sqrt(), t - p * (a - mean) ** 2, mean, 2 * p
        return (a + b) ** 2 / (4 * t)


def test_sincos_of_large_numbers_is_within_one_unit_in_the_last_place(compiled_sincos):
    arguments = [float(x) for x in far_arguments() if abs(x) >= 1e5]
    pi = long_pi(400)
    for x, got in zip(arguments, compiled_sincos(arguments), strict=True):
        with decimal.localcontext(decimal.Context(prec=400)):
            quarters = (Decimal(x) / (pi / 2)).to_integral_value()
            rest = Decimal(x) - quarters * pi / 2
        for value, true in zip(got, exact_from(rest, int(quarters)), strict=True):
            assert abs(Decimal(float(value)) - true) <= Decimal(math.ulp(float(true))), x


def test_sincos_of_what_is_no_angle(compiled_sincos):
    assert np.isnan(compiled_sincos([math.nan, math.inf, -math.inf])).all()


def test_sincos_keeps_the_sign_of_zero(compiled_sincos):
    for zero in (0.0, -0.0):
        sine, cosine = compiled_sincos([zero])[0]
        assert sine == 0.0
        assert math.copysign(1, sine) == math.copysign(1, zero)
        assert cosine == 1.0


# -- sincos of lanes -----------------------------------------------------------------------------


def many_lanes(t, x, u, p, out):
    for i in range(int(t)):
        out[2 * i], out[2 * i + 1] = lane_sincos(x[i])
    return 0


@pytest.fixture(scope="module")
def compiled_lane_sincos():
    entry = compile_entry(many_lanes, KERNEL, "sincos-lanes")

    def evaluate_all(values):
        return call(entry.place, float(len(values)), values, [], [], 2 * len(values))[1].reshape(-1, 2)

    return evaluate_all


def test_sincos_of_lanes_is_within_two_units_in_the_last_place(compiled_lane_sincos):
    random = np.random.default_rng(4)
    arguments = [float(x) for x in sincos_arguments()]
    arguments += [float(x) for x in random.uniform(-LANE_LIMIT, LANE_LIMIT, 1500)]
    for k in random.integers(-636000, 636000, 400):
        arguments += around(float(PI / 2 * int(k)))
    for x, got in zip(arguments, compiled_lane_sincos(arguments), strict=True):
        for value, exact in zip(got, exact_sincos(x), strict=True):
            error = abs(Decimal(float(value)) - exact) / Decimal(math.ulp(float(exact)))
            assert error <= (1 if abs(x) < 1e5 else 2), (x, value, float(error))


def test_sincos_of_lanes_is_no_number_where_its_reduction_ends(compiled_lane_sincos):
    beyond = math.nextafter(LANE_LIMIT, math.inf)
    assert np.isfinite(compiled_lane_sincos([LANE_LIMIT, -LANE_LIMIT])).all()
    assert np.isnan(compiled_lane_sincos([beyond, -beyond, 1e300, math.inf, -math.inf, math.nan])).all()


def test_sincos_of_lanes_keeps_the_sign_of_zero(compiled_lane_sincos):
    sines, cosines = compiled_lane_sincos([0.0, -0.0]).T
    assert list(np.signbit(sines)) == [False, True]
    assert list(cosines) == [1.0, 1.0]
