"""Errors of regression coefficients that hold when cases of a cluster depend on each other (CR2)."""

import numpy as np

from pathway_local.statistics.figure import FloatArray, IntArray

WHOLE = 1 - 1e-9
"""A direction of the design of which a cluster has this share is known from that cluster alone."""


def contrast_error(
    design: FloatArray, residuals: FloatArray, contrast: FloatArray, codes: IntArray
) -> tuple[float, float]:
    """The standard error of contrast @ coefficients, and its degrees of freedom.

    The design X is (cases, columns), residuals and cluster codes are (cases,). The bias-reduced linearization of Bell
    and McCaffrey (2002), as Pustejovsky and Tipton (2018) define it: the residuals of a cluster are multiplied by
    (I - H_gg)^(-1/2) and added up before they are squared, because large clusters pull the fit towards themselves.
    Degrees of freedom are Satterthwaite's for independent cases of one variance. For weighted cases, give rows and
    residuals times the root of the weight; for two-stage least squares, the design of the second stage. Not defined,
    with 0 degrees of freedom, if the contrast is known from one cluster alone.
    """
    values, vectors = np.linalg.eigh(design.T @ design)
    kept = values > 1e-10 * values[-1]
    turn = vectors[:, kept] / np.sqrt(values[kept])
    basis, wanted = design @ turn, contrast @ turn  # of orthonormal columns: all that follows is of their size
    # With B = basis_g.T @ basis_g, (I - H_gg)^(-1/2) basis_g is basis_g (I - B)^(-1/2): no matrix is cases x cases.
    inside = np.array([[np.bincount(codes, one * other) for other in basis.T] for one in basis.T])
    shares, axes = np.linalg.eigh(inside.transpose(2, 0, 1))
    along, whole = wanted @ axes, shares > WHOLE
    if np.any(whole & (np.abs(along) > 1e-9 * np.linalg.norm(wanted))):
        return float("nan"), 0.0
    along = np.where(whole, 0.0, along / np.sqrt(np.where(whole, 1.0, 1 - shares)))
    parts = np.bincount(codes, np.sum(basis * np.einsum("gij,gj->gi", axes, along)[codes], axis=1) * residuals)
    # Under independence the products of parts have these expectations: `own` on the diagonal, -pull_g pull_h beside it.
    pull = np.einsum("gij,gj->gi", axes, shares * along)
    lost = np.sum(pull**2, axis=1)
    own = np.sum(shares * along**2, axis=1) - lost
    beside = np.sum((pull.T @ pull) ** 2) - np.sum(lost**2)
    return float(np.sqrt(np.sum(parts**2))), float(np.sum(own) ** 2 / (np.sum(own**2) + beside))
