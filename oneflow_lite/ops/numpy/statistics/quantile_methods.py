"""Between which elements of a sorted lane the methods of quantiles look, as NumPy does.

Nine are those of R. J. Hyndman and Y. Fan, Sample quantiles in statistical packages, The American
Statistician 50 (1996); ``lower``, ``higher``, ``midpoint`` and ``nearest`` are NumPy's.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

Places = npt.NDArray[Any]

# Of those between two elements: what is added to the place of a part, by alpha and beta.
PLOTTED = {
    "interpolated_inverted_cdf": (0, 1),
    "hazen": (0.5, 0.5),
    "weibull": (0, 0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}
_ELEMENTS = ("inverted_cdf", "closest_observation", "lower", "higher", "nearest")
METHODS = ("linear", *_ELEMENTS, "averaged_inverted_cdf", "midpoint", *PLOTTED)


def finds_elements(method: str) -> bool:
    """Return whether each quantile is an element, whatever the part is."""
    return method in _ELEMENTS


def places_of(method: str, n: int, parts: Places) -> Places:
    """Return the places of parts in a lane of n elements: whole numbers, or between two elements.

    Places below 0 and beyond the last element stand for the ends.
    """
    if method == "linear":
        return np.asarray((n - 1) * parts)
    if method in PLOTTED:
        alpha, beta = PLOTTED[method]
        return np.asarray(n * parts + (alpha + parts * (1 - alpha - beta)) - 1)
    if method == "averaged_inverted_cdf":
        return np.asarray(n * parts - 1)
    if method == "inverted_cdf":
        up_to = np.asarray(np.ceil(np.asarray(n * parts - 1))).astype(np.intp)
        return np.asarray(np.clip(up_to, 0, n - 1))
    if method == "closest_observation":
        return _closest(np.asarray(n * parts - 1 - 0.5), n)
    place = np.asarray((n - 1) * parts)
    if method == "midpoint":
        return np.asarray(0.5 * (np.floor(place) + np.ceil(place)))
    rounded = {"lower": np.floor, "higher": np.ceil, "nearest": np.rint}[method](place)
    return np.asarray(rounded).astype(np.intp)


def _closest(place: Places, n: int) -> Places:
    """The element after a place; the one at an odd place, counted from 0, where that is whole."""
    before = np.floor(place)
    is_odd = (place == before) & (before % 2 == 1)
    return np.asarray(np.clip(np.where(is_odd, before, before + 1).astype(np.intp), 0, n - 1))


def share_of(method: str, place: Any, share: Any) -> Any:
    """Return how much the upper one of two elements counts; ``share`` is how far it is to it."""
    if method == "averaged_inverted_cdf":
        return type(share)(0.5 if share == 0 else 1)
    if method == "midpoint":
        return type(share)(0 if place % 1 == 0 else 0.5)
    return share
