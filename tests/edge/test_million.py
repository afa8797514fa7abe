"""What random runs once found, each in its smallest form; `verification/plain.py` makes them."""

import math

import numpy as np
import pytest

import saltus
from saltus import robots, simulate
from saltus.control import PD, Compiled, Constant, Schedule, Sine


def _hold_both(t, x, status, memory, p, data, piece, u, request):
    """Close both hands at the second sample, and open one at every third."""
    k = int(memory[0])
    memory[0] += 1.0
    u[0] = data[0]
    request[0] = 1
    request[1] = -1 if k % 3 == 0 else 1
    return 0


def _hold(t, x, status, memory, p, data, piece, u, request):
    u[0] = data[0]
    request[0] = request[1] = 1
    return 0


def _let_go(t, x, status, memory, p, data, piece, u, request):
    u[0] = data[0]
    request[0] = request[1] = -1
    return 0


# name: robot, parameters, start, options, most events
RUNS = {
    "nothing presses a block that is pushed along": (
        "block", {"g": 0.0}, {"s": 1.747, "n": 1.853, "ds": -1.97, "dn": -2.106},
        {"controller": PD(977.0, 810.0, 2.167), "rtol": 6.7e-7, "until": 2.0}, 1,
    ),
    "a push at the very edge of the cone": (
        "block", {"mass": 0.12717138018777, "slope": 1.091779244975192, "mu": 0.14949250988639104,
                  "g": 1.2911625227792234, "force_limit": 238.95547141724904},
        {"s": -0.5803169417050813, "n": 0.0, "ds": 9.62160921068949, "dn": -5.87295532814106},
        {"controller": PD(1915.9978712059929, 32.13448770058777, -1.5110920772184193), "method": "dop853",
         "rtol": 4.7664417723140495e-11, "atol": 1.2017840706806068e-09}, 5000,
    ),
    "a start a hair below the ground, leaving it": ("block", {"g": -3.8}, {"n": -2.8e-14}, {}, 0),
    "a start a hair below the ground, on a steep slope": (
        "block", {"slope": -1.26833566992083, "g": -12.193677851992815},
        {"s": 0.9662274660166726, "n": -3.3306690738754696e-16, "ds": 0.8681555855827683}, {}, 0,
    ),
    "a strike at the start, off a steep slope far from its origin": (
        "block", {"mass": 0.24690174793650033, "slope": -1.164891601186794, "g": -2.025009155043653,
                  "force_limit": 102.02805891023614},
        {"s": 1.0646505667040291, "n": 0.0, "ds": 1.497426695886219, "dn": -2.067231321632017},
        {"controller": Sine(38.429171511774555, 3.7008815489829145, 1.327490146127273, 63.49685933955135),
         "method": "dop853", "rtol": 3.1e-7, "atol": 5.1e-13}, 1,
    ),
    "a start a hair below the ground, with weight to lose": (
        "rod", {"g": 66.7, "length": 3.4}, {"y": -3.2e-11, "theta": math.pi + 1.9e-11}, {"rtol": 8e-7}, 0,
    ),
    "a start that all but rests": ("bouncing_ball", {}, {"y": 0.0, "dy": 6.2e-10}, {"method": "dop853"}, 0),
    "two feet that stop sliding together": (
        "rimless_wheel", {"mass": 1.9187888185279627, "length": 0.18442169995190918, "shape": 0.03896848194408775,
                          "mu": 0.14455592944884832},
        {"x": 0.963170832117969, "y": 0.12326761707701583, "theta": 2.7270142081190873, "dx": 0.014860127237602343,
         "dy": -0.2232373780754005, "dtheta": 0.08820500756990496}, {"method": "dop853"}, 10,
    ),
    "two feet that rock to rest": (
        "rimless_wheel", {"mass": 0.288, "length": 0.2166, "shape": 0.545, "slope": -0.0178, "mu": 5.44, "g": 82.6},
        {"x": 0.39, "y": 0.1933, "theta": 1.9448, "dx": -1.0724, "dy": 0.7145, "dtheta": 0.2857}, {"rtol": 8e-7}, 120,
    ),
    "two ends that clatter in no time": (
        "rod", {"mass": 0.172, "shape": 0.0282, "g": 0.0, "mu": 0.572, "restitution": 0.0062},
        {"x": -0.6416, "y": 0.24856, "theta": 0.50356, "dx": 0.1855, "dy": -2.82, "dtheta": 3.8234}, {"rtol": 8e-7}, 40,
    ),
    "an end that rests while the other is about to strike": (
        "rod", {"shape": 0.08195713872215882, "g": 0.0, "mu": 0.20630995796972093},
        {"x": -1.638933437478884, "y": 1.4805667364126394, "theta": -1.070250818887621, "dx": 1.995405646618759,
         "dy": -4.038764233815224, "dtheta": 2.634073960786627}, {"rtol": 1.19e-8, "atol": 2.8e-10}, 10,
    ),
    "a thin rod that falls flat": (
        "rod", {"length": 0.601, "shape": 0.00034, "g": 22.5},
        {"x": 1.05, "y": 0.743, "theta": 0.9936, "dx": 0.0, "dy": -1.928}, {"method": "dop853"}, 10,
    ),
    "rocking without friction": (
        "rod", {"length": 0.23118550715000197, "shape": 0.12190364107094503, "g": 19.318444217731507, "mu": 0.0,
                "restitution": 0.3200211748683699},
        {"x": 0.03078884696286117, "y": 0.8730273838016032, "theta": -0.7853981633974483},
        {"method": "dop853", "rtol": 2.3137510626837208e-08, "atol": 2.270271036097644e-10, "until": 2.0}, 150,
    ),
    "bounces that spin keeps up": (
        "disc", {"mass": 2.4479107884862694, "shape": 0.6448892629283242, "slope": 0.0, "mu": 0.10133010307916135,
                 "restitution": 0.9774821243891478},
        {"x": -1.65, "y": 0.2000049308882641, "dy": -0.201},
        {"controller": Schedule.steps((0.0, 0.37, 0.92), (10.0, -6.26, -10.0)), "method": "dop853", "until": 2.0}, 900,
    ),
    "a long first step": (
        "rod", {}, {"x": 1.3944519621393816, "y": 0.4972798208929916, "theta": -1.6751543483511657},
        {"method": "dop853", "rtol": 8.7e-11, "atol": 7.3e-13, "until": 0.3}, 0,
    ),
    "a long step into another mode": (
        "rod", {"mass": 3.75, "length": 3.234, "shape": 0.2383, "mu": 0.13, "restitution": 0.47},
        {"x": 0.28, "y": 1.6099, "theta": 1.7364, "dx": 0.0704, "dy": 0.0071, "dtheta": -0.0775},
        {"method": "dop853", "rtol": 8.7e-11, "atol": 7.3e-13, "until": 0.3}, 40,
    ),
    "an error estimate that is small by chance": (
        "double_pendulum", {"m1": 1.3535632582488084, "m2": 2.096876116326355, "L1": 1.031939992108335,
                            "L2": 0.7392197963900674, "r1": 0.7399101118089012, "r2": 2.1069050224335357, "I1": 0.0,
                            "I2": 0.08333333333333333, "g": 5.582070003992157, "torque_limit": 63.23001496282579},
        {"theta1": -1.9634954084936207, "theta2": 2.9948848288903545, "dtheta1": -0.13927746748546896,
         "dtheta2": -0.22955284458939645},
        {"controller": Constant(63.23001496282579), "method": "dop853", "rtol": 2.9579871398065608e-08,
         "atol": 4.044525910686067e-09}, 0,
    ),
    "a gap that leaves zero slowly": (
        "hopper", {}, {"x": 0.3129370001896828, "theta1": 2.8967799360543616, "theta2": -1.5707963267948966,
                       "dx": 0.9480417804612853, "dy": -0.527155565110423, "dtheta1": -0.6723742649402902,
                       "dtheta2": 0.1499945622113242},
        {"controller": Sine(5.929068149831524, 3.8815945458607484, 0.000486006356871016, 4.060931850168475),
         "rtol": 2.7510226803809368e-09, "atol": 8.130591998931075e-09, "until": 0.3}, 10,
    ),
    "an arm held at both ends, without weight": (
        "arm", {"g": 0.0, "L2": 2.0, "torque_limit": 0.0}, {"theta1": -2.4, "theta2": -1.24},
        {"controller": Compiled(_hold_both, (0.0,), 0.01), "until": 0.5}, 200,
    ),
    "an arm held at both ends, pushed at its elbow": (
        "arm", {}, {"theta1": -2.4, "theta2": -1.24}, {"controller": Compiled(_hold_both, (3.0,), 0.01), "until": 0.5},
        200,
    ),
    "an elbow that leaves its stop as the hand lets go": (
        "arm", {"viscous": 0.54}, {"theta2": math.radians(150), "dtheta2": -0.34},
        {"controller": Compiled(_let_go, (8.0,), 0.25), "until": 0.5}, 20,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RUNS)
def test_run_ends_well(name):
    robot, parameters, start, options, most = RUNS[name]
    system = robots.find_robot(robot).with_parameters(**parameters)
    run = simulate(system, system.consistent(start), **{"until": 1.0, **options})
    assert run.status.good
    assert len(run.events) <= most
    assert run.check().ok, str(run.check())


def test_a_rod_that_spins_does_not_pass_through_the_ground():
    # nothing but inertia turns it, so that accuracy alone would allow steps of many turns
    rod = robots.rod(length=0.145, shape=0.0085, mu=0.46, restitution=0.87)
    for spin in np.linspace(100.0, 400.0, 13):
        run = simulate(rod, {"y": 0.6, "theta": 0.9, "dtheta": spin}, method="dop853", until=0.6)
        assert run.check()["gaps and slip"].ok


def test_the_stop_that_is_struck_at_the_start_has_its_name():
    arm = robots.arm()
    start = arm.consistent({"theta2": math.radians(150), "dtheta2": 1.0})
    assert simulate(arm, start, until=0.1).events[0].guard == "theta2.upper"


def test_energy_audit_knows_what_the_absolute_tolerance_is_worth():
    pendulum = robots.pendulum(length=7.5, g=88.5, damping=0.2, mass=1.7)
    assert simulate(pendulum, {"theta": 0.11}, atol=2.6e-9, rtol=4.7e-11, until=2.0).check().ok


def test_energy_audit_knows_what_large_angles_are_worth():
    run = simulate(robots.pendulum(), {"theta": 1e5, "dtheta": 3.0}, rtol=1e-7, until=3.0)
    assert run.check().ok


def test_two_names_for_one_motion_are_no_paradox():
    # held at both ends the elbow cannot move, whether its friction sticks or not
    arm = robots.arm(coulomb=0.6)
    run = simulate(arm, mode={"hand": "closed", "tip": "closed"}, until=0.2)
    assert run.status.good
    assert run.final["theta2"] == pytest.approx(0.8, abs=1e-9)


def test_several_units_settle_though_their_impulses_do_not():
    # tangents of both ends say all but the same thing twice
    rod = robots.rod(mass=0.185, length=0.1003, shape=0.00806, g=8.76, mu=0.2238, restitution=0.3886)
    start = {
        "x": 0.5655633325436615,
        "y": 0.021483973427743133,
        "theta": 0.4425269926411406,
        "dy": -0.166,
        "dx": -0.034,
    }
    run = simulate(rod, start, method="dop853", rtol=6e-7, atol=6e-10, until=2.0)
    assert run.status.good
    assert run.check().ok


def test_an_elbow_that_turns_does_not_pull_at_the_hand_that_holds():
    arm = robots.arm(m2=0.15, L1=0.4011, coulomb=0.6, viscous=0.575)
    mode = {"hand": "open", "tip": "closed"}
    speeds = {"dx": 1.083, "dy": -0.251, "dtheta1": -2.764, "dtheta2": 2.708}
    start = arm.consistent({"x": 0.6755, "y": -0.5441, "theta1": -0.2026, "theta2": -1.4714, **speeds}, mode)
    for rtol in (1e-5, 1e-6, 1e-7):
        run = simulate(arm, start, mode=mode, method="dop853", rtol=rtol, atol=1.6e-13, until=0.3)
        assert len(run.events) < 10
        assert run.check().ok


def test_one_step_of_a_batch_is_judged_as_in_a_run():
    batch = saltus.simulate_many(robots.pendulum(), {"theta": np.linspace(0.1, 3.0, 7)}, until=1.0, atol=1e-9)
    for k in range(batch.n):
        assert batch.run(k).check()["energy balance"].limit == pytest.approx(batch.energy_limit[k], rel=1e-6)


def test_a_pole_of_the_force_is_no_zero():
    # the foot slips into a state in which no force is large enough; the run ends there and does not jump over it
    hopper = robots.hopper(
        m=0.5041102271873931, l=0.1087802407458859, g=2.016105764415575, mu=1.4994801079736373,
        tau_max=12.568113353288304, e_n=0.26240286995412265, e_t=-0.1807205676408814,
    )  # fmt: skip
    start = [
        0.18264752332809284, 0.0, 0.7853981633974483, 1.706971101310696, -14.262274020376422,
        0.0, 1.3646840252606456, 0.0,
    ]  # fmt: skip
    torque = Sine(10.346205331863827, 0.845126279153777, -2.1999969838123934, 2.209339908071189)
    for rtol in (2.5950889902188384e-08, 2.6e-8, 2e-8, 1e-8, 1e-9, 1e-10):
        batch = saltus.simulate_many(
            hopper, [start], controllers=torque, until=2.0, rtol=rtol, atol=5.966400951288539e-11
        )
        assert batch.status[0] in ("no_consistent_mode", "stalled", "step_collapse")
        assert batch.t_end[0] == pytest.approx(0.0037753861, abs=1e-9)
        assert batch.energy_worst[0] <= batch.energy_limit[0]


def test_rounding_of_a_wound_up_angle_is_no_energy():
    # held by both hands after 27 turns: the last digit of one angle, times the torque at the other, is 1e-11 J
    monkeybot = robots.monkeybot(
        L1=0.818260683179848, L2=0.15668655725052996, r1=0.54473, r2=0.06527, I1=0.021555263520841965,
        I2=0.018373178856611227, g=0.0, torque_limit=125.60465562592265,
        elbow_viscous=1.3394279320457534, hand_viscous=1.5210486575388216,
    )  # fmt: skip
    start = {
        "x": 1.1919857430868195, "y": -0.03609108411488654, "theta1": 171.96615483746234, "theta2": 0.1288681124727038,
        "dtheta1": -0.019660388141598976, "dtheta2": -0.022772593292832467,
    }  # fmt: skip
    run = simulate(
        monkeybot, start, controller=Compiled(_hold, data=(200.0,), period=0.25), mode={"A": "closed"},
        rtol=1.06e-8, atol=1.04e-13, until=0.3,
    )  # fmt: skip
    assert run.events[0].mode_after == "A:closed B:closed"
    energy = run.check()["energy balance"]
    assert energy.ok
    assert 1e-11 < energy.value < energy.limit < 2e-10
