"""Many objects at a time: the layout of the scratch memory of the kernels, exp and log.

A compiled loop over the few classes of one object cannot use the vector units of a
processor. Kernels therefore work on LANES objects side by side, and every value in them is one
of :class:`bc3e.model.vectors.Lanes`. Everything that they keep of the objects lies in two flat arrays:

- ``work``: ``get(work, i * CLASS + M)`` is the field M of class i;
- ``single``: ``get(single, R1)`` is the field R1, one number for a whole object.

No lane ever looks at another one, so the result of an object does not depend on its company.

exp and log are here because the library's cannot be vectorised. They are accurate to about
one unit in the last place.
"""

from __future__ import annotations

from bc3e.model.compiled import part
from bc3e.model.evidence import LANES as LANES
from bc3e.model.vectors import SHIFT, Lanes, fraction, larger, power_of_two, shifted_exponent

# Where the fields of a class begin, and how far it is to those of the next class.
(C, M, E, A, D, S, P, T, X, STEP_M, STEP_E, STEP_A, STEP_D, NEW_M, NEW_E, INVERSE, LAST_E, LAST_S
 ) = (field * LANES for field in range(18))  # fmt: skip
CLASS = 18 * LANES

# Where the fields of an object begin, and how many numbers they are.
(R1, R2, G, STEP_G, NEW_G, TAU, SIZE, BEFORE, SLACK, VALUE, AFTER, TOTAL,
 N11, N12, N22, N13, N23, N33, Z1, Z2, Z3, COUPLED, TOLD, MOVING, FOLLOWED
 ) = (field * LANES for field in range(25))  # fmt: skip
OBJECT = 25 * LANES

LOWEST = -708.0  # exp of less is no normal number any more
_LOG2_E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10


@part
def exp(x: Lanes) -> Lanes:
    """e^x for x in [-708, 709]; what is lower is taken as -708.

    x = n ln 2 + r with |r| <= ln 2 / 2; e^r is its Taylor polynomial of degree 13, whose
    first omitted term is below 2^-57, evaluated in pairs to keep the chain of operations short.
    """
    within = larger(x, LOWEST)
    shifted = within * _LOG2_E + SHIFT
    n = shifted - SHIFT
    r = (within - n * _LN2_HIGH) - n * _LN2_LOW
    r2 = r * r
    r4 = r2 * r2
    high = (2.755731922398589e-07 + r * 2.505210838544172e-08) + r2 * (
        2.08767569878681e-09 + r * 1.6059043836821613e-10
    )
    middle = (0.001388888888888889 + r * 0.0001984126984126984) + r2 * (
        2.48015873015873e-05 + r * 2.7557319223985893e-06
    )
    low = (0.5 + r * 0.16666666666666666) + r2 * (0.041666666666666664 + r * 0.008333333333333333)
    tail = low + r4 * (middle + r4 * high)
    return (1.0 + (r + r2 * tail)) * power_of_two(shifted)


@part
def log(x: Lanes) -> Lanes:
    """Natural logarithm of a positive normal number.

    x = 2^n f with f in [sqrt(1/2), sqrt(2)); log f = 2 artanh(s) with s = (f - 1) / (f + 1), by a
    polynomial in s^2 (the minimax coefficients of the C library that BSD systems share).
    """
    n = shifted_exponent(x) - SHIFT
    f = fraction(x) - 1.0
    s = f / (2.0 + f)
    z = s * s
    z2 = z * z
    series = z * (
        (0.6666666666666735130 + z * 0.3999999999940941908)
        + z2
        * (
            (0.2857142874366239149 + z * 0.2222219843214978396)
            + z2 * ((0.1818357216161805012 + z * 0.1531383769920937332) + z2 * 0.1479819860511658591)
        )
    )
    half = 0.5 * f * f
    return n * _LN2_HIGH - ((half - (s * (half + series) + n * _LN2_LOW)) - f)
