"""Handwritten digits: a two-layer network that trains through autograd, with an operator of the user's own.

Trains on 1,437 of the 1,797 UCI digits (8x8 pixels, from scikit-learn's package) and tests on the rest. The loss is a
custom operator that carries its own derivative. The same training runs in NumPy, for comparison, where the backward
pass has to be written out by hand.

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


def softmax_error(xp, scores, targets):
    exponentials = xp.exp(scores - xp.max(scores, axis=1, keepdims=True))
    return exponentials / xp.sum(exponentials, axis=1, keepdims=True) - targets


# An operator of our own, with its derivative and with what it gives for arrays without data.
@fo.library.custom_op("digits::cross_entropy", mutates_args=())
def cross_entropy(scores: fo.Tensor, targets: fo.Tensor) -> fo.Tensor:
    """The mean over the rows of -log softmax(scores)[target], for one-hot targets."""
    shifted = scores - scores.max(axis=1, keepdims=True)
    return fo.mean(fo.log(fo.exp(shifted).sum(axis=1)) - (shifted * targets).sum(axis=1))


@cross_entropy.register_fake
def _(scores, targets):
    return fo.empty((), dtype=scores.dtype, device=scores.device)


def backward(ctx, gradient):
    scores, targets = ctx.saved_tensors
    return gradient * softmax_error(fo, scores, targets) / scores.shape[0], None


cross_entropy.register_autograd(backward, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))


def load():
    """Pixels in 0..1 and labels: (train pixels, train labels, test pixels, test labels)."""
    from sklearn.datasets import load_digits
    pixels, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    pixels, labels = pixels[order] / 16.0, labels[order]
    split = len(labels) * 4 // 5
    return pixels[:split], labels[:split], pixels[split:], labels[split:]


def predict(xp, x, w1, b1, w2, b2):
    return xp.tanh(x @ w1 + b1) @ w2 + b2


def gradients_by_autograd(batch, wanted, *weights):
    cross_entropy(predict(fo, batch, *weights), wanted).backward()
    found = [weight.grad for weight in weights]
    for weight in weights:
        weight.grad = None
    return found


def gradients_by_hand(batch, wanted, w1, b1, w2, b2):
    hidden = np.tanh(batch @ w1 + b1)
    error_out = softmax_error(np, hidden @ w2 + b2, wanted) / len(batch)
    error_hidden = (error_out @ w2.T) * (1.0 - hidden * hidden)
    return batch.T @ error_hidden, error_hidden.sum(axis=0), hidden.T @ error_out, error_out.sum(axis=0)


def train(xp, gradients, data, progress=None):
    """Stochastic gradient descent in the array namespace *xp*; returns the weights and the test accuracy."""
    pixels, labels, test_pixels, test_labels = data
    rng = np.random.default_rng(1)
    x, targets, test_x, test_y = (xp.asarray(array) for array in (pixels, np.eye(10)[labels], test_pixels, test_labels))
    weights = [xp.asarray(array) for array in (rng.normal(0, 0.2, (64, HIDDEN)), np.zeros(HIDDEN),
                                               rng.normal(0, 0.2, (HIDDEN, 10)), np.zeros(10))]
    if xp is fo:
        for weight in weights:
            weight.requires_grad = True
    accuracy = 0.0
    for epoch in range(EPOCHS):
        order = rng.permutation(len(labels))
        for start in range(0, len(order), BATCH):
            rows = xp.asarray(order[start:start + BATCH])
            found = gradients(x[rows], targets[rows], *weights)
            with fo.no_grad():
                for weight, gradient in zip(weights, found):
                    weight -= RATE * gradient
        with fo.no_grad():
            accuracy = float(xp.mean(xp.argmax(predict(xp, test_x, *weights), axis=1) == test_y))
        if progress:
            progress(epoch, accuracy)
    return weights, accuracy


def per_sample_norms(weights, data):
    """How far each held-out digit by itself would move the weights."""
    def loss(weights, image, wanted):
        scores = predict(fo, image, *weights)
        return fo.special.logsumexp(scores) - (scores * wanted).sum()
    gradients = fo.vmap(fo.grad(loss), (None, 0, 0))(weights, fo.asarray(data[2]), fo.asarray(np.eye(10)[data[3]]))
    return np.sqrt(sum((gradient ** 2).reshape(len(data[3]), -1).sum(axis=1) for gradient in gradients).numpy())


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
    weights, accuracy = train(fo, gradients_by_autograd, data, show_progress)
    ours = time.perf_counter() - started
    started = time.perf_counter()
    numpy_weights, numpy_accuracy = train(np, gradients_by_hand, data)
    numpys = time.perf_counter() - started
    weights = [weight.detach() for weight in weights]
    apart = max(float(np.max(np.abs(np.asarray(mine) - theirs))) for mine, theirs in zip(weights, numpy_weights))

    print(f"\nheld-out accuracy   fastops {accuracy:.2%}   NumPy {numpy_accuracy:.2%}")
    print(f"time for {EPOCHS} epochs   fastops, by autograd {ours:.2f} s   NumPy, backward pass by hand {numpys:.2f} s   ({numpys / ours:.2f}x)")
    print(f"largest difference of a weight {apart:.1e}")

    image, wanted = fo.asarray(data[2][:1]), fo.asarray(np.eye(10)[data[3][:1]])
    print("\nthe first held-out digit, and the walk of one line, cross_entropy(tanh(x @ w1 + b1) @ w2 + b2, wanted):\n")
    for row in data[2][0].reshape(8, 8):
        print("    " + "".join(" .:*#"[int(value * 4.99)] * 2 for value in row))
    print(f"\n    seen as {int(fo.argmax(predict(fo, image, *weights)))}, labelled {data[3][0]}\n")
    fo.explain(lambda: cross_entropy(predict(fo, image, *weights), wanted))
    meta = cross_entropy(fo.empty((32, 10), device="meta"), fo.empty((32, 10), device="meta"))
    print(f"\nthe same operator without data: {meta}")
    steepest = fo.grad(lambda x: cross_entropy(predict(fo, x, *weights), wanted))(image)
    print("\nwhere more ink (+) or less (-) would most make it another digit, by the gradient with respect to the pixels:\n")
    scale = float(fo.max(fo.abs(steepest)))
    for row in (steepest / scale).reshape(8, 8).tolist():
        print("    " + "".join((" .+" if value > 0 else " .-")[int(abs(value) * 2.99)] * 2 for value in row))
    size = per_sample_norms(weights, data)
    hardest = np.argsort(size)[::-1][:5]
    print("\nthe gradient's norm for each held-out digit by itself, by vmap(grad): "
          f"median {np.median(size):.1e}, largest {', '.join(f'{size[i]:.1f} (a {data[3][i]})' for i in hardest)}")
    return 0 if accuracy >= 0.96 and apart < 1e-8 else 1


if __name__ == "__main__":
    sys.exit(main())
