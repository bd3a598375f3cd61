"""matplotlib draws tensors."""

import pytest

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
matplotlib.use("Agg")

import numpy as np                              # noqa: E402
from matplotlib import colors, figure, path, transforms         # noqa: E402

from .calls import Group                        # noqa: E402


def axes(**options):
    return figure.Figure().add_subplot(**options)


def drawn(picture):
    picture.figure.canvas.draw()
    return picture


MATPLOTLIB = Group("matplotlib", 0, [
    ("plot", lambda x, v: axes().plot(x, v)[0].get_xydata()),
    ("plot of columns", lambda a: [line.get_ydata() for line in axes().plot(a)]),
    ("scatter", lambda x, v: axes().scatter(x, v).get_offsets()),
    ("scatter colours", lambda x, v: axes().scatter(x, v, c=v, s=v).get_array()),
    ("bar", lambda x, v: [bar.get_height() for bar in axes().bar(x, v)]),
    ("barh", lambda x, v: [bar.get_width() for bar in axes().barh(x, v)]), ("hist", lambda v: axes().hist(v, bins=4)[0]),
    ("hist2d", lambda v, w: axes().hist2d(v, w, bins=3)[0]), ("imshow", lambda image: axes().imshow(image).get_array()),
    ("imshow of uint8", lambda u: axes().imshow(u).get_array()),
    ("pcolormesh", lambda image: axes().pcolormesh(image).get_array()), ("contour", lambda image: axes().contour(image).levels),
    ("quiver", lambda x, v, w: axes().quiver(x, v, v, w).U),
    ("errorbar", lambda x, v: axes().errorbar(x, v, yerr=v)[0].get_ydata().astype(float)),
    ("fill_between", lambda x, v: axes().fill_between(x, v).get_paths()[0].vertices),
    ("stem", lambda x, v: axes().stem(x, v)[0].get_ydata()), ("step", lambda x, v: axes().step(x, v)[0].get_ydata()),
    ("boxplot", lambda v: axes().boxplot(v)["medians"][0].get_ydata()),
    ("violinplot", lambda v: axes().violinplot(v)["bodies"][0].get_paths()[0].vertices),
    ("pie", lambda v: [wedge.theta1 for wedge in axes().pie(v)[0]]),
    ("3-d", lambda x, v, w: drawn(axes(projection="3d").plot(x, v, w)[0]).get_data_3d()),
    ("surface",
     lambda image: axes(projection="3d").plot_surface(*np.meshgrid(np.arange(9.0), np.arange(8.0)), image).get_fc().shape),
    ("draw", lambda x, v: drawn(axes().plot(x, v)[0]).get_path().vertices), ("limits", lambda v: limits(axes(), v)),
    ("axhline at a number", lambda z: axes().axhline(z).get_ydata()),
    ("text at numbers", lambda v: axes().text(v[0], v[1], "here").get_position()),
    ("Normalize", lambda v: np.asarray(colors.Normalize()(v))), ("colormap", lambda p: matplotlib.colormaps["viridis"](p)),
    ("to_rgba", lambda p: colors.to_rgba(p[:3])), ("Path", lambda a: path.Path(a[:, :2]).vertices),
    ("Affine2D", lambda a: transforms.Affine2D().rotate(0.3).transform(a[:, :2])),
    ("specgram", lambda big: axes().specgram(big, NFFT=16, noverlap=8)[0]),
], faults={"to_rgba": "the elements of a tensor are tensors, and matplotlib asks for numbers.Real"})


def limits(picture, v):
    picture.set_xlim(v[0], v[1])
    picture.set_xticks(v)
    return picture.get_xlim(), picture.get_xticks()


test_call_works, test_results_stay_native = MATPLOTLIB.tests()
