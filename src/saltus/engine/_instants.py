"""Which instants count as one."""

from saltus._native import compiled


@compiled
def same_time(t):
    """Instants nearer than this count as one."""
    return 1e-12 * max(1.0, abs(t))
