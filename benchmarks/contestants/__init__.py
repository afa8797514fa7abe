"""Contestants: the same two-link pendulum solved by hand-written C, saltus, SciPy, MuJoCo and Drake, one file each."""
