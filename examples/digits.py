"""Handwritten digits: a two-layer network in plain array code, with an operator of the user's own.

Trains on 1,437 of the 1,797 UCI digits (8x8 pixels, from scikit-learn's package) and tests on the rest. The
backward pass is written out by hand. The same program runs in NumPy, for comparison: everything but the namespace
and the one custom operator is shared.

Run: ``python examples/digits.py`` (or ``make demo``).
"""

import sys
import time

import numpy as np

import fastops as fo

EPOCHS = 40
BATCH = 32
HIDDEN = 64
RATE = 0.2

# An operator of our own: softmax minus the one-hot targets, the gradient of the cross-entropy loss. The CPU kernel
# is plain Python over arrays; the Meta kernel says the result's shape and dtype without data.
library = fo.library.Library("digits", "DEF")
library.define("softmax_error(Tensor scores, Tensor targets) -> Tensor")


def softmax_error(scores, targets, xp=fo):
    exponentials = xp.exp(scores - xp.max(scores, axis=1, keepdims=True))
    return exponentials / xp.sum(exponentials, axis=1, keepdims=True) - targets


library.impl("softmax_error", lambda scores, targets: softmax_error(scores, targets), "CPU")
library.impl("softmax_error", lambda scores, targets: fo.empty_like(scores), "Meta")


def load():
    """Pixels in 0..1 and labels: (train pixels, train labels, test pixels, test labels)."""
    from sklearn.datasets import load_digits
    pixels, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    pixels, labels = pixels[order] / 16.0, labels[order]
    split = len(labels) * 4 // 5
    return pixels[:split], labels[:split], pixels[split:], labels[split:]


def train(xp, error, data, progress=None):
    """Stochastic gradient descent in the array namespace *xp*; returns the weights and the test accuracy."""
    pixels, labels, test_pixels, test_labels = data
    rng = np.random.default_rng(1)
    x = xp.asarray(pixels)
    targets = xp.asarray(np.eye(10)[labels])
    test_x, test_y = xp.asarray(test_pixels), xp.asarray(test_labels)
    w1 = xp.asarray(rng.normal(0, 0.2, (64, HIDDEN)))
    b1 = xp.zeros(HIDDEN)
    w2 = xp.asarray(rng.normal(0, 0.2, (HIDDEN, 10)))
    b2 = xp.zeros(10)
    accuracy = 0.0
    for epoch in range(EPOCHS):
        order = rng.permutation(len(labels))
        for start in range(0, len(order), BATCH):
            rows = xp.asarray(order[start:start + BATCH])
            batch, wanted = x[rows], targets[rows]
            hidden = xp.tanh(batch @ w1 + b1)
            error_out = error(hidden @ w2 + b2, wanted) / len(rows)
            error_hidden = (error_out @ w2.T) * (1.0 - hidden * hidden)
            w2 -= RATE * (hidden.T @ error_out)
            b2 -= RATE * xp.sum(error_out, axis=0)
            w1 -= RATE * (batch.T @ error_hidden)
            b1 -= RATE * xp.sum(error_hidden, axis=0)
        scores = xp.tanh(test_x @ w1 + b1) @ w2 + b2
        accuracy = float(xp.mean(xp.argmax(scores, axis=1) == test_y))
        if progress:
            progress(epoch, accuracy)
    return (w1, b1, w2, b2), accuracy


def show_progress(epoch, accuracy):
    done = (epoch + 1) * 30 // EPOCHS
    ending = "\n" if epoch + 1 == EPOCHS or not sys.stdout.isatty() and epoch % 10 == 9 else ""
    if sys.stdout.isatty() or ending:
        start = "\r" if sys.stdout.isatty() else ""
        print(f"{start}epoch {epoch + 1:3}/{EPOCHS} [{'=' * done:<30}] held-out accuracy {accuracy:.1%}", end=ending,
              flush=True)


def main():
    data = load()
    print(f"{len(data[1])} digits to train on, {len(data[3])} held out\n")
    started = time.perf_counter()
    weights, accuracy = train(fo, fo.ops.digits.softmax_error.default, data, show_progress)
    ours = time.perf_counter() - started
    started = time.perf_counter()
    _, numpy_accuracy = train(np, lambda scores, targets: softmax_error(scores, targets, np), data)
    numpys = time.perf_counter() - started

    print(f"\nheld-out accuracy   fastops {accuracy:.2%}   NumPy {numpy_accuracy:.2%}")
    print(f"time for {EPOCHS} epochs   fastops {ours:.2f} s   NumPy {numpys:.2f} s   ({numpys / ours:.2f}x)")

    w1, b1, w2, b2 = weights
    image = fo.asarray(data[2][:1])
    print("\nthe first held-out digit, and the walk of one line, error(tanh(x @ w1 + b1) @ w2 + b2, wanted):\n")
    for row in data[2][0].reshape(8, 8):
        print("    " + "".join(" .:*#"[int(value * 4.99)] * 2 for value in row))
    print()
    scores = fo.tanh(image @ w1 + b1) @ w2 + b2
    print(f"    seen as {int(fo.argmax(scores))}, labelled {data[3][0]}\n")
    wanted = fo.asarray(np.eye(10)[data[3][:1]])
    fo.explain(lambda: fo.ops.digits.softmax_error.default(fo.tanh(image @ w1 + b1) @ w2 + b2, wanted))
    meta = fo.ops.digits.softmax_error.default(fo.empty((32, 10), device="meta"), fo.empty((32, 10), device="meta"))
    print(f"\nthe same operator without data: {meta}")
    return 0 if accuracy >= 0.96 else 1


if __name__ == "__main__":
    sys.exit(main())
