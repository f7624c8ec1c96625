"""What is measured: one prefill-like matmul, one RMSNorm-like reduction."""

import tiny


class Matmul:
    """c += a @ b; the buffers are made once, untimed."""

    def __init__(self, m, k, n):
        self.shape = m, k, n
        self.buffers = [tiny.tensor([0.5] * size) for size in (m * k, k * n, m * n)]

    def step(self):
        tiny.matmul(*self.buffers, *self.shape)


class SumSquares:
    """The sum of squares of one long row."""

    def __init__(self, length):
        self.row = tiny.tensor([1.0] * length)

    def step(self):
        return tiny.sum_squares(self.row)
