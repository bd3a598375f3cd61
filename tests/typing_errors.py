"""Wrong uses that a type checker must report: each line that ends in ``# error`` and no other."""

import fastops as fo

x = fo.ones((2, 3))
fo.sum(x, axes=0)  # error
fo.zeros("three")  # error
fo.sin()  # error
fo.reshape(x, (3, 2), copy="no")  # error
x.summ()  # error
y: int = x + 1  # error
fo.linalg.inverse(x)  # error
fo.random.default_rng(0).normals()  # error
fo.fft.fft(x, n="4")  # error
x.shape = (3, 2)  # error
fo.where(x > 0, x, 0.0, out="x")  # error
good: fo.Tensor = fo.clip(x, 0.0, 1.0) @ x.T
