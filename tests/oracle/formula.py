# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights and tokens from their names alone; formula.hpp computes the same bits.

hash(name, i) = splitmix64 finaliser of (fnv1a64(name) + i * golden gamma), all mod 2^64
u             = its top 53 bits / 2^53;  s = 2u - 1, exact in f64
value         = 1 + 0.2 s for a gain, 0.1 s for a bias, 0.2 s for a matrix; each operation rounded
"""

import numpy as np

MASK = (1 << 64) - 1
FNV_OFFSET, FNV_PRIME = 0xCBF29CE484222325, 0x100000001B3
GAMMA = 0x9E3779B97F4A7C15
SAMPLE_STRIDE = 2654435761


def fnv1a64(units, state=FNV_OFFSET):
    """FNV-1a over bytes; over 64-bit words it serves as a digest."""
    for unit in units:
        state = ((state ^ unit) * FNV_PRIME) & MASK
    return state


def hashes(name, count):
    """hash(name, i) for i in [0, count)."""
    start = np.uint64(fnv1a64(name.encode("ascii")))
    z = start + np.arange(count, dtype=np.uint64) * np.uint64(GAMMA)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def symmetric(name, count):
    """s in [-1, 1), exact."""
    return (hashes(name, count) >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1.0


def values(name, shape):
    """The parameter `name`, row-major; its kind is read off the end of its name."""
    s = symmetric(name, int(np.prod(shape)))
    if name.endswith("gain"):
        s = 1.0 + s * 0.2
    else:
        s = s * (0.1 if name.endswith("bias") else 0.2)
    return s.reshape(shape)


def tokens(batch, seq, vocab):
    """[batch, seq + 1]: inputs are all but the last column, labels all but the first."""
    return (hashes("tokens", batch * (seq + 1)) % np.uint64(vocab)).astype(np.int64).reshape(batch, seq + 1)


def digest(array):
    """Of the bits of a row-major f64 or int64 array, as 16 hexadecimal digits."""
    return "%016x" % fnv1a64(int(word) for word in np.ascontiguousarray(array).view(np.uint64).ravel())


def sample_indices(count):
    """All of a small array, else 64 distinct places (the stride is prime)."""
    return list(range(count)) if count <= 64 else [i * SAMPLE_STRIDE % count for i in range(64)]
