"""Brute-force transcriptions of the paper's pseudo-code, for reading: float64, loops and all.

Nothing here is shared with the library. Indices are the paper's, from 1; rows are particles.
"""

import numpy as np


def cdf(z, value):
    """Appendix "CDF Estimations": F(value) from sorted z_1 ≤ … ≤ z_N.

    Where ties leave a choice, I is the largest index with z_I ≤ value; outside the range of z, F
    is what it is at the nearest end.
    """
    N = len(z)
    if value < z[0]:
        return 0.0
    I = max(i for i in range(1, N + 1) if z[i - 1] <= value)
    if I == N:
        return (N - 1) / N
    z_I, z_next = z[I - 1], z[I]
    return (I - 1) / N + 1 / N * (value - z_I) / (z_next - z_I)


def quantile(z, a):
    """Appendix "CDF Estimations": the inverse of F at a.

    The paper's index I = ⌊aN⌋ starts at 0 here: else F⁻¹(F(z_1)) would need a z_0.
    """
    N = len(z)
    I = int(np.floor(a * N))
    if I >= N - 1:
        return z[N - 1]
    return z[I] + (a * N - I) * (z[I + 1] - z[I])


def transport(p, q, value):
    """T = F_q⁻¹ ∘ F_p, from values in any order."""
    return quantile(sorted(q), cdf(sorted(p), value))


def cswf(X, Y, x, y, thetas, xi, eta, counted=None):
    """Algorithm 1 from given X_0 (M, d), Y_0 (M, l), data (N, d), (N, l).

    ``thetas`` (K, H, d + l) holds the directions of each step, ``counted`` (K, m) the particles
    from which it estimates F_p: all, if not given. The paper prints the update as X − η v̂, with
    a v̂ that has a minus of its own; the flow must go with the velocity, X + η v̂.
    """
    X = np.array(X, dtype=np.float64)
    M, d = X.shape
    for k, step_thetas in enumerate(thetas):
        H = len(step_thetas)
        subset = range(M) if counted is None else counted[k]
        v = np.zeros_like(X)
        for theta in step_thetas:
            theta_x, theta_y = theta[:d], theta[d:]
            q = [theta_x @ x_i + xi * (theta_y @ y_i) for x_i, y_i in zip(x, y, strict=True)]
            p = [theta_x @ X_j + xi * (theta_y @ Y_j) for X_j, Y_j in zip(X, Y, strict=True)]
            for j in range(M):
                psi = p[j] - transport([p[i] for i in subset], q, p[j])
                v[j] += -1 / H * psi * theta_x
        X = X + eta * v
    return X


def inpaint(X, observed, x, thetas, eta):
    """Algorithm 1 where y are the coordinates of x at ``observed`` (ξ = 1)."""
    hidden = ~observed
    columns = np.concatenate([np.flatnonzero(hidden), np.flatnonzero(observed)])
    X_K = cswf(
        X[:, hidden], X[:, observed], x[:, hidden], x[:, observed], thetas[:, :, columns], 1, eta
    )
    out = np.array(X, dtype=np.float64)
    out[:, hidden] = X_K
    return out


def swf(X, x, thetas, eta, lam, noise):
    """Algorithm 2: directions (H, d) drawn once, entropic noise (K, M, d)."""
    X = np.array(X, dtype=np.float64)
    H = len(thetas)
    q = [sorted(theta @ x_i for x_i in x) for theta in thetas]
    for epsilon in noise:
        v = np.zeros_like(X)
        for theta, q_theta in zip(thetas, q, strict=True):
            p = sorted(theta @ X_j for X_j in X)
            for j in range(len(X)):
                z = theta @ X[j]
                v[j] += -1 / H * (z - quantile(q_theta, cdf(p, z))) * theta
        X = X + eta * v + np.sqrt(2 * lam * eta) * epsilon
    return X


def lanczos_upsample(image, n, lobes=5):
    """Resample a k×k image to n×n, pixel by pixel."""
    k = len(image)

    def kernel(t):
        return np.sinc(t) * np.sinc(t / lobes) if abs(t) < lobes else 0.0

    def weights(i):
        centre = (i + 0.5) * k / n
        w = np.array([kernel(centre - (j + 0.5)) for j in range(k)])
        return w / w.sum()

    lines = [weights(i) for i in range(n)]
    out = np.zeros((n, n))
    for r in range(n):
        for c in range(n):
            out[r, c] = lines[r] @ image @ lines[c]
    return out


def local_direction(patch, centre, k, n):
    """Section 5: embed a patch (C, S, S) at its centre in zeros, upsample, normalise.

    What hangs over the border is cut off; a patch as large as the level is the level.
    """
    C, S, _ = patch.shape
    theta = np.zeros((C, n, n))
    for channel in range(C):
        image = np.zeros((k, k))
        for i in range(S):
            for j in range(S):
                r, c = (i, j) if S == k else (centre[0] - S // 2 + i, centre[1] - S // 2 + j)
                if 0 <= r < k and 0 <= c < k:
                    image[r, c] = patch[channel, i, j]
        theta[channel] = lanczos_upsample(image, n)
    return theta.ravel() / np.linalg.norm(theta)
