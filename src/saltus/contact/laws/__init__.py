"""One file an impact law; the file's name is the law's name.

A law file has ``COEFFICIENTS``, a tuple of (name, default, lower, upper), and a function

    impulse(A, free, before, c, out, info) -> int

in the compiled subset of Python. ``A`` is the Delassus matrix of the contact, row by row
(tt, tn, nt, nn); ``free`` its velocity (t, n) before this contact's impulse but with those of
all others that strike at the same instant; ``before`` its velocity before the event; ``c`` is
friction, which may be infinite, and then the coefficients. It writes the impulse (t, n) to ``out``, and to ``info``
whether the normal velocity is now zero, whether the tangential one is, and a figure of its own.
It returns 0, or 1 where it has no solution. A law that is known to create energy in some configurations says
``MAY_CREATE_ENERGY = True``; the conformance checks hold all others to creating none.

For contacts in space a law has ``impulse_in_space``, the same with three rows (forward t, normal n, sideways s): nine
numbers of ``A``, three velocities, three impulses.
"""
