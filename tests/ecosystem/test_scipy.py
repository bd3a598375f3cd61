"""SciPy on tensors, as it is and with ``SCIPY_ARRAY_API=1``."""

import pytest

pytest.importorskip("scipy", reason="SciPy is not installed")

import numpy as np                                                                          # noqa: E402
from scipy import (cluster, constants, differentiate, fft, integrate, interpolate, linalg, ndimage, optimize,    # noqa: E402
                   signal, sparse, spatial, special, stats)
from scipy.optimize import elementwise                                                      # noqa: E402

from .calls import Group                                                                    # noqa: E402


def permuted(v, w):
    def difference(x, y, axis):
        return np.mean(x, axis=axis) - np.mean(y, axis=axis)
    return stats.permutation_test((v, w), difference, n_resamples=99, vectorized=True, rng=1).statistic


def resampled(data, statistic):
    return stats.bootstrap((data,), statistic, n_resamples=99, rng=np.random.default_rng(1)).standard_error


def interpolated(image):
    rows, columns = image[:, 0].cumsum(), image[0, :].cumsum()
    return interpolate.RegularGridInterpolator((rows, columns), image)(image[:1, :2] * 0 + 2.0)


def curve(x, v):
    return optimize.curve_fit(lambda x, slope, height: slope * x + height, x, v)[0]


SCIPY = Group("SciPy", 8, [
    ("linalg.solve", lambda s, v: linalg.solve(s, v[:4])), ("linalg.inv", lambda s: linalg.inv(s)),
    ("linalg.det", lambda q: linalg.det(q)), ("linalg.lu", lambda q: tuple(linalg.lu(q))),
    ("linalg.cholesky", lambda s: linalg.cholesky(s)), ("linalg.expm", lambda q: linalg.expm(q)),
    ("linalg.svdvals", lambda a: linalg.svdvals(a)), ("linalg.eigh", lambda s: linalg.eigh(s)),
    ("linalg.norm", lambda a: linalg.norm(a)), ("linalg.toeplitz", lambda v: linalg.toeplitz(v)),
    ("linalg.blas", lambda v, w: linalg.blas.ddot(v, w)), ("linalg.lstsq", lambda a, v: linalg.lstsq(a, v[:4])[0]),
    ("linalg.block_diag", lambda a, q: linalg.block_diag(a, q)), ("special.gamma", lambda v: special.gamma(v)),
    ("special.erf", lambda w: special.erf(w)), ("special.jv", lambda v: special.jv(1, v)),
    ("special.expit", lambda f: special.expit(f)), ("special.logsumexp", lambda a: special.logsumexp(a, axis=0)),
    ("special.softmax", lambda a: special.softmax(a, axis=1)), ("special.xlogy", lambda v, p: special.xlogy(v, p)),
    ("special.comb", lambda n: special.comb(10, n)), ("special.betainc", lambda v, w, p: special.betainc(v, v, p)),
    ("fft.fft", lambda c: fft.fft(c)), ("fft.rfft", lambda v: fft.rfft(v)), ("fft.dct", lambda v: fft.dct(v)),
    ("fft.fftshift", lambda v: fft.fftshift(v)), ("fft.fft2", lambda a: fft.fft2(a)),
    ("signal.convolve", lambda v, w: signal.convolve(v, w)), ("signal.fftconvolve", lambda v, w: signal.fftconvolve(v, w)),
    ("signal.lfilter", lambda v: signal.lfilter([1.0, 0.5], [1.0, -0.2], v)),
    ("signal.filtfilt", lambda big: signal.filtfilt([0.5, 0.5], [1.0], big)),
    ("signal.find_peaks", lambda big: signal.find_peaks(big)[0]), ("signal.welch", lambda big: signal.welch(big, nperseg=16)[1]),
    ("signal.savgol_filter", lambda big: signal.savgol_filter(big, 5, 2)), ("signal.resample", lambda v: signal.resample(v, 9)),
    ("signal.medfilt", lambda v: signal.medfilt(v, 3)), ("signal.detrend", lambda big: signal.detrend(big)),
    ("signal.hilbert", lambda v: signal.hilbert(v)), ("signal.stft", lambda big: signal.stft(big, nperseg=16)[2]),
    ("signal.convolve2d", lambda image: signal.convolve2d(image, np.ones((3, 3)))),
    ("signal.lsim", lambda x: signal.lsim(([1.0], [1.0, 1.0]), x, np.arange(6.0))[1]),
    ("stats.describe", lambda v: tuple(stats.describe(v))[2:]), ("stats.zscore", lambda v: stats.zscore(v)),
    ("stats.ttest_ind", lambda v, w: tuple(stats.ttest_ind(v, w))), ("stats.pearsonr", lambda v, w: tuple(stats.pearsonr(v, w))),
    ("stats.spearmanr", lambda v, w: tuple(stats.spearmanr(v, w))), ("stats.norm.pdf", lambda w: stats.norm.pdf(w)),
    ("stats.norm.fit", lambda w: stats.norm.fit(w)), ("stats.skew", lambda v: stats.skew(v)),
    ("stats.gaussian_kde", lambda big, x: stats.gaussian_kde(big)(x)),
    ("stats.linregress", lambda x, v: stats.linregress(x, v).slope), ("stats.kstest", lambda w: stats.kstest(w, "norm").pvalue),
    ("stats.rankdata", lambda i: stats.rankdata(i)), ("stats.mode", lambda n: tuple(stats.mode(n))),
    ("stats.iqr", lambda v: stats.iqr(v)), ("stats.trim_mean", lambda v: stats.trim_mean(v, 0.1)),
    ("stats.entropy", lambda p: stats.entropy(p)), ("stats.gmean", lambda v: stats.gmean(v)),
    ("stats.mannwhitneyu", lambda v, w: tuple(stats.mannwhitneyu(v, w))),
    ("stats.bootstrap",
     lambda big: stats.bootstrap((big,), np.mean, n_resamples=99, random_state=np.random.default_rng(1)).standard_error),
    ("stats.permutation_test", lambda v, w: permuted(v, w)),
    ("stats.binned_statistic", lambda x, v: stats.binned_statistic(x, v, bins=3)[0][0]),
    ("stats.ecdf", lambda v: stats.ecdf(v).cdf.quantiles),
    ("optimize.minimize", lambda v: optimize.minimize(lambda x: ((x - v) ** 2).sum(), np.zeros(6)).x.round(4)),
    ("optimize.minimize from a tensor", lambda v: optimize.minimize(lambda x: ((x - 1.0) ** 2).sum(), v).x.round(4)),
    ("optimize.root", lambda v: optimize.root(lambda x: x - v, np.zeros(6)).x),
    ("optimize.least_squares", lambda v: optimize.least_squares(lambda x: x - v, np.zeros(6)).x),
    ("optimize.curve_fit", lambda x, v: curve(x, v)), ("optimize.linprog", lambda p: optimize.linprog(p, bounds=(1, 2)).x),
    ("optimize.nnls", lambda a, v: optimize.nnls(a, v[:4])[0]),
    ("optimize.linear_sum_assignment", lambda q: optimize.linear_sum_assignment(q)),
    ("optimize.newton", lambda v: optimize.newton(lambda x: x * x - 2, v)),
    ("integrate.simpson", lambda x, v: integrate.simpson(v, x=x)),
    ("integrate.cumulative_trapezoid", lambda v: integrate.cumulative_trapezoid(v)),
    ("integrate.solve_ivp", lambda v: integrate.solve_ivp(lambda t, y: -y, (0, 1), v).y[:, -1]),
    ("integrate.quad of a tensor function", lambda z: integrate.quad(lambda x: float(z * x), 0, 1)[0]),
    ("integrate.odeint", lambda v: integrate.odeint(lambda y, t: -y, v, [0.0, 1.0])),
    ("interpolate.CubicSpline", lambda x, v: interpolate.CubicSpline(x, v)(x)),
    ("interpolate.interp1d", lambda x, v: interpolate.interp1d(x, v)(x)),
    ("interpolate.PchipInterpolator", lambda x, v: interpolate.PchipInterpolator(x, v)(x)),
    ("interpolate.griddata", lambda points, scores: interpolate.griddata(points[:, :2], scores, [(0.0, 0.0)])),
    ("interpolate.splrep", lambda x, v: interpolate.splrep(x, v)[1]),
    ("interpolate.RegularGridInterpolator",
     lambda image: interpolate.RegularGridInterpolator((np.arange(8), np.arange(9)), image)([[1.5, 2.5]])),
    ("interpolate.RBFInterpolator", lambda points, scores: interpolate.RBFInterpolator(points, scores)(points[:2])),
    ("ndimage.gaussian_filter", lambda image: ndimage.gaussian_filter(image, 1.0)),
    ("ndimage.label", lambda k: ndimage.label(k)[0]), ("ndimage.zoom", lambda image: ndimage.zoom(image, 2)),
    ("ndimage.sobel", lambda image: ndimage.sobel(image)),
    ("ndimage.map_coordinates", lambda image: ndimage.map_coordinates(image, [[1.5], [2.5]])),
    ("ndimage.distance_transform_edt", lambda k: ndimage.distance_transform_edt(k)),
    ("ndimage.median_filter", lambda image: ndimage.median_filter(image, 3)),
    ("ndimage.rotate", lambda image: ndimage.rotate(image, 30)),
    ("ndimage.mean of labels", lambda points, labels: ndimage.mean(points[:, 0], labels, [0, 1])),
    ("spatial.distance.cdist", lambda points: spatial.distance.cdist(points, points[:3])),
    ("spatial.distance.pdist", lambda points: spatial.distance.pdist(points)),
    ("spatial.distance.cosine", lambda v, w: spatial.distance.cosine(v, w)),
    ("spatial.KDTree", lambda points: spatial.KDTree(points).query(points[:2], 2)),
    ("spatial.ConvexHull", lambda points: spatial.ConvexHull(points).volume),
    ("spatial.Rotation", lambda a: spatial.transform.Rotation.from_rotvec(a).as_matrix()),
    ("spatial.Rotation.apply", lambda a: spatial.transform.Rotation.from_euler("z", 0.3).apply(a)),
    ("cluster.linkage", lambda points: cluster.hierarchy.linkage(points)),
    ("cluster.kmeans2", lambda points: cluster.vq.kmeans2(points, 2, rng=1, minit="++")[1].sum() > 0),
    ("sparse.csr_array", lambda q: sparse.csr_array(q).toarray()),
    ("sparse times tensor", lambda v: sparse.eye_array(6, format="csr") @ v),
    ("sparse from parts", lambda v, n: sparse.coo_array((v, (n, n)), shape=(5, 5)).toarray()),
    ("sparse.linalg.spsolve", lambda v: sparse.linalg.spsolve(sparse.csc_array(2.0 * np.eye(6)), v)),
    ("sparse.linalg.cg", lambda s, v: sparse.linalg.cg(s, v[:4])[0].round(4)),
    ("sparse.linalg.LinearOperator", lambda v: sparse.linalg.LinearOperator((6, 6), matvec=lambda x: 2 * x) @ v),
    ("sparse.csgraph", lambda k: sparse.csgraph.connected_components(np.eye(4) + 0 * np.asarray(k[:, :1]))[0]),
    ("constants.convert_temperature", lambda v: constants.convert_temperature(v, "Celsius", "Kelvin")),
], faults={"sparse.linalg.cg": "SciPy takes a matrix of NumPy's, or an object with matvec"}, unsteady={"sparse.linalg.cg"})

ARRAY_API = Group("SciPy, SCIPY_ARRAY_API=1", 62, [
    ("fft.fft", lambda c: fft.fft(c)), ("fft.ifft", lambda c: fft.ifft(c)), ("fft.rfft", lambda v: fft.rfft(v)),
    ("fft.irfft", lambda c: fft.irfft(c)), ("fft.fftn", lambda t: fft.fftn(t)), ("fft.dct", lambda v: fft.dct(v)),
    ("fft.fftshift", lambda v: fft.fftshift(v)), ("fft.fftfreq", lambda v: fft.fftfreq(6, xp=v.__array_namespace__())),
    ("special.erf", lambda w: special.erf(w)), ("special.gammaln", lambda v: special.gammaln(v)),
    ("special.expit", lambda w: special.expit(w)), ("special.logsumexp", lambda a: special.logsumexp(a, axis=1)),
    ("special.softmax", lambda a: special.softmax(a, axis=0)), ("special.log_softmax", lambda a: special.log_softmax(a)),
    ("special.xlogy", lambda v, p: special.xlogy(v, p)), ("special.ndtr", lambda w: special.ndtr(w)),
    ("special.entr", lambda p: special.entr(p)), ("signal.convolve", lambda v, w: signal.convolve(v, w)),
    ("signal.fftconvolve", lambda v, w: signal.fftconvolve(v, w)), ("signal.lfilter", lambda v: signal.lfilter(v[:2], v[:1], v)),
    ("signal.detrend", lambda big: signal.detrend(big)), ("signal.hilbert", lambda v: signal.hilbert(v)),
    ("signal.firwin window", lambda v: signal.windows.hann(8, xp=v.__array_namespace__())),
    ("ndimage.gaussian_filter", lambda image: ndimage.gaussian_filter(image, 1.0)),
    ("ndimage.sobel", lambda image: ndimage.sobel(image)), ("ndimage.label", lambda k: ndimage.label(k)[0]),
    ("ndimage.center_of_mass", lambda image: ndimage.center_of_mass(image)),
    ("ndimage.zoom", lambda image: ndimage.zoom(image, 2.0)), ("ndimage.binary_erosion", lambda k: ndimage.binary_erosion(k)),
    ("cluster.linkage", lambda points: cluster.hierarchy.linkage(points)),
    ("cluster.whiten", lambda points: cluster.vq.whiten(points)),
    ("cluster.vq", lambda points: cluster.vq.vq(points, points[:2, :])), ("stats.zscore", lambda v: stats.zscore(v)),
    ("stats.skew", lambda v: stats.skew(v)), ("stats.kurtosis", lambda v: stats.kurtosis(v)),
    ("stats.moment", lambda v: stats.moment(v, 2)), ("stats.gmean", lambda v: stats.gmean(v)),
    ("stats.pmean", lambda v: stats.pmean(v, 2)), ("stats.ttest_1samp", lambda w: tuple(stats.ttest_1samp(w, 0.0))),
    ("stats.ttest_ind", lambda v, w: tuple(stats.ttest_ind(v, w))), ("stats.pearsonr", lambda v, w: tuple(stats.pearsonr(v, w))),
    ("stats.variation", lambda v: stats.variation(v)), ("stats.sem", lambda v: stats.sem(v)),
    ("stats.entropy", lambda p: stats.entropy(p)), ("stats.rankdata", lambda i: stats.rankdata(i)),
    ("stats.tmean", lambda v: stats.tmean(v)), ("stats.chisquare", lambda v: tuple(stats.chisquare(v))),
    ("stats.normaltest", lambda big: tuple(stats.normaltest(big))),
    ("stats.jarque_bera", lambda big: tuple(stats.jarque_bera(big))),
    ("stats.directional_stats", lambda a: stats.directional_stats(a).mean_direction),
    ("stats.bootstrap", lambda big: resampled(big, lambda x, axis: x.__array_namespace__().mean(x, axis=axis))),
    ("stats.quantile", lambda v, p: stats.quantile(v, p)), ("stats.gstd", lambda v: stats.gstd(v)),
    ("stats.kstat", lambda v: stats.kstat(v)), ("stats.differential_entropy", lambda big: stats.differential_entropy(big)),
    ("integrate.simpson", lambda x, v: integrate.simpson(v, x=x)),
    ("integrate.trapezoid", lambda x, v: integrate.trapezoid(v, x=x)),
    ("integrate.cumulative_trapezoid", lambda v: integrate.cumulative_trapezoid(v)),
    ("integrate.tanhsinh", lambda v: integrate.tanhsinh(lambda x: x * x, v * 0, v).integral),
    ("integrate.cubature", lambda v: integrate.cubature(lambda x: x[:, 0] ** 2, v[:1] * 0, v[:1]).estimate),
    ("differentiate.derivative", lambda v: differentiate.derivative(lambda x: x * x, v).df),
    ("differentiate.jacobian", lambda v: differentiate.jacobian(lambda x: x * x, v[:2]).df.round(6)),
    ("optimize.find_root", lambda v: elementwise.find_root(lambda x: x ** 3 - 1, (v * 0, v + 2)).x),
    ("optimize.find_minimum",
     lambda v: elementwise.find_minimum(lambda x: (x - 1) ** 2, (v * 0, v * 0 + 0.9, v + 2)).f_x.round(6)),
    ("interpolate.AAA", lambda x, v: interpolate.AAA(x, v)(x)),
    ("interpolate.RegularGridInterpolator", lambda image: interpolated(image)),
    ("interpolate.CubicSpline", lambda x, v: interpolate.CubicSpline(x, v)(x)),
    ("spatial.cdist", lambda points: spatial.distance.cdist(points, points[:3])),
    ("spatial.Rotation", lambda a: spatial.transform.Rotation.from_rotvec(a).as_matrix()),
    ("linalg.inv", lambda s: linalg.inv(s)), ("linalg.solve", lambda s, q: linalg.solve(s, q)),
    ("linalg.expm", lambda q: linalg.expm(q)),
    ("constants.convert_temperature", lambda v: constants.convert_temperature(v, "Celsius", "Kelvin")),
], environment={"SCIPY_ARRAY_API": "1"})

test_scipy, test_scipy_native = SCIPY.tests()
test_array_api, test_array_api_native = ARRAY_API.tests()
