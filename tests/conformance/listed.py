"""The list of hazards: all sections together, in their order."""

from tests.conformance import (
    list_a,
    list_b,
    list_c,
    list_d,
    list_e,
    list_f,
    list_g,
    list_h,
    list_i,
    list_j,
    list_k,
    list_l,
    list_m,
)

HAZARDS = [
    hazard
    for section in (
        list_a, list_b, list_c, list_d, list_e, list_f, list_g, list_h, list_i, list_j,
        list_k, list_l, list_m,
    )
    for hazard in section.HAZARDS
]  # fmt: skip
"""All of them."""
