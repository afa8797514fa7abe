"""A view in space in a real browser: it draws without a network, plays, and its scene is where mechanics says."""

import io

import numpy as np
import pytest
from PIL import Image
from scipy.spatial.transform import Rotation

import saltus
from saltus.robots import find_robot
from saltus.show import space_view

# The matrix of a thing in the scene's own frame, in which z points up, column after column.
MATRIX = """(path) => {
  const { viewer } = saltus;
  viewer.scene.updateMatrixWorld(true);
  const inverse = viewer.scene.matrixWorld.clone().invert();
  return inverse.multiply(viewer.scene_tree.find(path).object.matrixWorld).toArray();
}"""
# Where a place of the world is in the window, pixels.
PIXEL = """(place) => {
  const { viewer } = saltus;
  viewer.render();
  const at = viewer.camera.position.clone().set(...place).applyMatrix4(viewer.scene.matrixWorld).project(viewer.camera);
  return [(at.x + 1) / 2 * innerWidth, (1 - at.y) / 2 * innerHeight];
}"""


@pytest.fixture(scope="module")
def coin():
    return saltus.simulate(find_robot("coin"), until=1.0)


@pytest.fixture
def opened(open_page, coin):
    return open_page(None, text=space_view(coin, follow=False), width=900, height=600)


def seek(opened, time):
    opened.tab.evaluate("(time) => saltus.seek(time)", time)
    opened.settle()


def pose(opened, *path):
    matrix = np.reshape(opened.tab.evaluate(MATRIX, list(path)), (4, 4)).T
    return matrix[:3, 3], matrix[:3, :3]


def test_the_scene_is_where_mechanics_says(opened, coin):
    names = coin.system.state_names
    for time in (0.0, 0.4, 1.0, 0.25):
        seek(opened, time)
        state = coin.at(time)
        place, turn = pose(opened, "robot", "coin")
        assert place == pytest.approx(state[[names.index(name) for name in "xyz"]], abs=1e-5)
        quaternion = state[[names.index(name) for name in ("qx", "qy", "qz", "qw")]]
        assert turn == pytest.approx(Rotation.from_quat(quaternion).as_matrix(), abs=1e-4)
        assert opened.tab.locator("#clock").inner_text() == f"{time:.3f} s"
    assert opened.tab.locator("#mode").inner_text() == "roll"


def test_up_is_up_and_x_is_to_the_right(opened):
    low, high, right = (opened.tab.evaluate(PIXEL, place) for place in ([0, 0, 0], [0, 0, 0.3], [0.3, 0, 0]))
    assert high[1] < low[1] - 20
    assert abs(high[0] - low[0]) < 20
    assert right[0] > low[0] + 20


def test_something_is_drawn_where_the_robot_is(opened, coin):
    seek(opened, 0.5)
    opened.screenshot("space")
    x, y = opened.tab.evaluate(PIXEL, coin.at(0.5)[:3].tolist())
    seen = np.asarray(Image.open(io.BytesIO(opened.tab.screenshot())).convert("RGB"), int)
    row, column = round(y), round(x)
    near = seen[row - 6 : row + 7, column - 6 : column + 7].reshape(-1, 3)
    # blue of the wheel, its light spokes, or the arrow over both; never the ground or the sky alone
    assert (np.ptp(near, axis=1) > 90).any()


def test_it_plays_pauses_and_ends(opened):
    assert opened.tab.evaluate("() => saltus.viewer.animator.playing") is False
    opened.tab.locator("#play").click()
    opened.tab.wait_for_function("() => saltus.viewer.animator.time > 0.05")
    opened.tab.locator("#play").click()
    stopped = opened.tab.evaluate("() => saltus.viewer.animator.time")
    assert 0.05 < stopped <= 1.0
    opened.tab.wait_for_timeout(100)
    assert opened.tab.evaluate("() => saltus.viewer.animator.time") == stopped
    opened.tab.locator("#speed").select_option("10")
    opened.tab.locator("#play").click()
    opened.tab.wait_for_function("() => !saltus.viewer.animator.playing")
    assert opened.tab.locator("#clock").inner_text() == "1.000 s"


def test_forces_are_switched_off_and_the_eye_follows(opened, coin):
    visible = "() => saltus.viewer.scene_tree.find(['forces']).object.visible"
    assert opened.tab.evaluate(visible) is True
    opened.tab.locator("#forces").uncheck()
    assert opened.tab.evaluate(visible) is False
    opened.tab.locator("#follow").check()
    target = "() => saltus.viewer.controls.target.toArray()"
    seek(opened, 0.0)
    before = opened.tab.evaluate(target)
    seek(opened, 1.0)
    way = np.array(opened.tab.evaluate(target)) - before
    # the eye's own axes have y up
    moved = coin.at(1.0)[:3] - coin.at(0.0)[:3]
    assert np.linalg.norm(way - [moved[0], moved[2], -moved[1]]) < 0.25
    assert np.linalg.norm(way) > 0.4 * np.linalg.norm(moved)


@pytest.mark.parametrize("robot", ["monkeybot", "claptrap"])
def test_other_robots_open_too(open_page, robot):
    run = saltus.simulate(find_robot(robot), until=0.1)
    one = open_page(None, text=space_view(run))
    one.screenshot(f"space-{robot}")
    count = one.tab.evaluate("() => Object.keys(saltus.viewer.scene_tree.find(['robot']).children).length")
    assert count >= 2
