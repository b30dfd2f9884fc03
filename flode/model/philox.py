"""Normal numbers as a GPU draws them.

The paper's program makes W where it trains, on a GPU, and so from another generator than all else:
PyTorch's there is Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
2011), in which any number can be had without those before it.
"""

from __future__ import annotations

import numpy as np

#: Threads that draw at once. A tensor of more elements wraps around: the extremes that the paper
#: prints of a W of 256 channels (Film) fit 31,700 to 46,200 threads, among them those of a GPU of
#: 72 multiprocessors with 512 each.
THREADS = 72 * 512

_BLOCK = 256
_ROUNDS = 10
_MULTIPLIERS = np.array([0xD2511F53, 0xCD9E8D57], dtype=np.uint64)
_WEYL = np.array([0x9E3779B9, 0xBB67AE85], dtype=np.uint64)
_WORD = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


def gpu_normal(seed: int, index: np.ndarray, size: int, draw: int = 0) -> np.ndarray:
    """Elements of a tensor of standard normal numbers, drawn by a GPU's generator.

    Args:
        seed: of the generator.
        index: ``(n,)`` which elements, counted through the tensor.
        size: elements of the tensor.
        draw: how many tensors of this size were drawn before.

    Returns:
        ``(n,)`` float64; a GPU's float32 agree to rounding.
    """
    threads = min(THREADS, -(-size // _BLOCK) * _BLOCK)
    turn, thread = np.divmod(np.asarray(index, dtype=np.uint64), np.uint64(threads))
    turns = -(-size // (4 * threads))  # each makes four numbers a turn of the counter
    words = _philox(seed, draw * turns + turn // np.uint64(4), thread)
    pair, second = np.divmod(turn % np.uint64(4), np.uint64(2))
    first, other = (np.where(pair == 0, words[k], words[k + 2]) for k in (0, 1))
    radius = np.sqrt(-2 * np.log(_unit(first)))
    angle = 2 * np.pi * _unit(other)
    return radius * np.where(second == 0, np.sin(angle), np.cos(angle))


def _unit(words: np.ndarray) -> np.ndarray:
    """In (0, 1], from 32 bits."""
    return (words.astype(float) + 0.5) * 2.0**-32


def _philox(seed: int, counter: np.ndarray, thread: np.ndarray) -> list[np.ndarray]:
    """Four words of 32 bits a thread."""
    state = [counter & _WORD, counter >> _HALF, thread & _WORD, thread >> _HALF]
    key = np.array([seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF], dtype=np.uint64)
    for _ in range(_ROUNDS):
        products = [m * word for m, word in zip(_MULTIPLIERS, (state[0], state[2]), strict=True)]
        state = [
            (products[1] >> _HALF) ^ state[1] ^ key[0],
            products[1] & _WORD,
            (products[0] >> _HALF) ^ state[3] ^ key[1],
            products[0] & _WORD,
        ]
        key = (key + _WEYL) & _WORD
    return state
