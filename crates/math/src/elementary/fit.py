"""Fits the polynomials of scalar.rs: python3 fit.py (needs mpmath).

A weighted Remez exchange. Coefficients are rounded from the lowest power up,
and what is left is fitted again after each, so that rounding costs little.
"""
import struct

from mpmath import erf, erfc, exp, expm1, log, log1p, lu_solve, matrix, mp, mpf, sqrt, tanh

mp.dps = 30


def as_f32(x):
    return mpf(struct.unpack("f", struct.pack("f", float(x)))[0])


def remez(f, weight, powers, low, high, rounds=8):
    """Coefficients c of sum(c[k] * x**powers[k]) with least max |error * weight|."""
    n = len(powers)
    nodes = [(low + high) / 2 - (high - low) * mpf("0.4999") * mp.cos(mp.pi * k / n) for k in range(n + 1)]
    grid = [low + (high - low) * (k + mpf(1) / 3) / 600 for k in range(600)]
    # Where the weight vanishes, at zero, the error still needs a constraint.
    floor = max(abs(weight(x)) for x in grid) / 50
    weigh = lambda x: abs(weight(x)) + floor
    at_grid = [(x, f(x), weigh(x)) for x in grid]
    for _ in range(rounds):
        system = matrix(n + 1, n + 1)
        values = matrix(n + 1, 1)
        for row, x in enumerate(nodes):
            for column, power in enumerate(powers):
                system[row, column] = x**power * weigh(x)
            system[row, n] = (-1) ** row
            values[row] = f(x) * weigh(x)
        solution = lu_solve(system, values)
        c = [solution[k] for k in range(n)]
        error = [(y - sum(a * x**p for a, p in zip(c, powers))) * w for x, y, w in at_grid]
        extremes, best = [], 0
        for k in range(1, len(grid)):
            if error[k] * error[best] < 0:
                extremes.append(best)
                best = k
            elif abs(error[k]) > abs(error[best]):
                best = k
        extremes.append(best)
        if len(extremes) < n + 1:
            break
        while len(extremes) > n + 1:
            del extremes[0 if abs(error[extremes[0]]) < abs(error[extremes[-1]]) else -1]
        nodes = [grid[k] for k in extremes]
    return c, max(abs(e) for e in error)


def fit(name, f, weight, degree, low, high):
    fixed, powers = [], list(range(degree + 1))
    while powers:
        rest = lambda x: f(x) - sum(a * x**k for k, a in enumerate(fixed))
        c, error = remez(rest, weight, powers, mpf(low), mpf(high))
        fixed.append(as_f32(c[0]))
        powers.pop(0)
    worst = max(abs((f(x) - sum(a * x**k for k, a in enumerate(fixed))) * weight(x))
                for x in (mpf(low) + (mpf(high) - mpf(low)) * (k + mpf(1) / 2) / 1000 for k in range(1000)))
    print(f"{name}: error 2^{float(log(worst, 2)):.1f}")
    print("    [" + ", ".join(mp.nstr(a, 9) for a in fixed) + "]")


half_ln2 = log(mpf(2)) / 2 * mpf("1.01")
exp_rest = lambda r: (expm1(r) - r) / r**2
exp_weight = lambda r: r**2 / exp(r)
fit("exp", exp_rest, exp_weight, 4, -half_ln2, half_ln2)
fit("log", lambda f: (log1p(f) - f + f**2 / 2) / f**3, lambda f: f**3 / log1p(f), 8, sqrt(mpf("0.5")) - 1, sqrt(mpf(2)) - 1)
fit("tanh", lambda z: (tanh(sqrt(z)) / sqrt(z) - 1) / z, lambda z: z / (tanh(sqrt(z)) / sqrt(z)), 4, 0, mpf("0.625") ** 2)
fit("erf, small", lambda z: erf(sqrt(z)) / sqrt(z) - 1, lambda z: sqrt(z) / erf(sqrt(z)), 6, 0, 1)
fit("erf, large", lambda t: -log(erfc(t)), erfc, 8, 1, 4)


def fit_erfc():
    """The logarithm of erfc(z) / t, less -z^2, by 2t - 1 with t = 2 / (2 + z), for z up to 10.2."""
    def logarithm(u):
        t = (u + 1) / 2
        z = 2 / t - 2
        return log(erfc(z) / t) + z * z
    c, error = mp.chebyfit(logarithm, [mpf(4) / mpf("12.2") - 1, 1], 14, error=True)
    print("erfc", mp.nstr(error, 3), [mp.nstr(a, 17) for a in reversed(c)])


fit_erfc()
