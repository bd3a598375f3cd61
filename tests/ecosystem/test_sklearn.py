"""scikit-learn on tensors, as it is and with array dispatch."""

import pytest

sklearn = pytest.importorskip("sklearn", reason="scikit-learn is not installed")

from sklearn import (cluster, covariance, decomposition, discriminant_analysis, ensemble, feature_selection,      # noqa: E402
                     gaussian_process, impute, linear_model, manifold, metrics, mixture, model_selection, naive_bayes, neighbors,
                     neural_network, pipeline, preprocessing, svm, tree)

from .calls import Group        # noqa: E402



def regressed(model, points, scores):
    return model.fit(points, scores).predict(points)


def network():
    return neural_network.MLPRegressor(hidden_layer_sizes=(4,), max_iter=5, random_state=0)


def steps():
    return pipeline.make_pipeline(preprocessing.StandardScaler(), svm.SVC())


def randomized():
    return decomposition.PCA(2, svd_solver="randomized", power_iteration_normalizer="QR", random_state=0)


def mixed():
    return mixture.GaussianMixture(2, random_state=0, init_params="random")


def discriminant():
    return discriminant_analysis.LinearDiscriminantAnalysis()


def dispatched(function):
    """The same call under scikit-learn's array dispatch."""
    def call(points, labels, scores):
        with sklearn.config_context(array_api_dispatch=True):
            return function(points, labels, scores)
    return call


SKLEARN = Group("scikit-learn", 0, [
    ("LinearRegression", lambda points, scores: regressed(linear_model.LinearRegression(), points, scores)),
    ("Ridge", lambda points, scores: regressed(linear_model.Ridge(), points, scores)),
    ("Lasso", lambda points, scores: regressed(linear_model.Lasso(0.01), points, scores)),
    ("LogisticRegression", lambda points, labels: regressed(linear_model.LogisticRegression(), points, labels)),
    ("predict_proba", lambda points, labels: linear_model.LogisticRegression().fit(points, labels).predict_proba(points)),
    ("SVC", lambda points, labels: regressed(svm.SVC(), points, labels)),
    ("SGDClassifier", lambda points, labels: regressed(linear_model.SGDClassifier(random_state=0), points, labels)),
    ("DecisionTreeClassifier", lambda points, labels: regressed(tree.DecisionTreeClassifier(random_state=0), points, labels)),
    ("RandomForestRegressor",
     lambda points, scores: regressed(ensemble.RandomForestRegressor(5, random_state=0), points, scores)),
    ("HistGradientBoosting",
     lambda points, labels: regressed(ensemble.HistGradientBoostingClassifier(max_iter=3), points, labels)),
    ("KNeighborsClassifier", lambda points, labels: regressed(neighbors.KNeighborsClassifier(), points, labels)),
    ("GaussianNB", lambda points, labels: regressed(naive_bayes.GaussianNB(), points, labels)),
    ("LinearDiscriminantAnalysis", lambda points, labels: regressed(discriminant(), points, labels)),
    ("MLPRegressor", lambda points, scores: regressed(network(), points, scores)),
    ("GaussianProcessRegressor",
     lambda points, scores: regressed(gaussian_process.GaussianProcessRegressor(alpha=1e-3, optimizer=None), points, scores)),
    ("KMeans", lambda points: cluster.KMeans(2, n_init=1, random_state=0).fit(points).labels_),
    ("DBSCAN", lambda points: cluster.DBSCAN(2.0).fit(points).labels_),
    ("PCA", lambda points: abs(decomposition.PCA(2).fit_transform(points))),
    ("NMF", lambda image: decomposition.NMF(2, init="nndsvda").fit_transform(image)),
    ("TSNE shape", lambda points: manifold.TSNE(perplexity=5, max_iter=250, random_state=0).fit_transform(points).shape),
    ("GaussianMixture", lambda points: mixture.GaussianMixture(2, random_state=0).fit(points).predict_proba(points)),
    ("StandardScaler", lambda points: preprocessing.StandardScaler().fit_transform(points)),
    ("OneHotEncoder", lambda labels: preprocessing.OneHotEncoder().fit_transform(labels[:, None]).toarray()),
    ("LabelEncoder", lambda labels: preprocessing.LabelEncoder().fit_transform(labels)),
    ("PolynomialFeatures", lambda points: preprocessing.PolynomialFeatures(2).fit_transform(points)),
    ("SimpleImputer", lambda points: impute.SimpleImputer().fit_transform(points)),
    ("SelectKBest", lambda points, labels: feature_selection.SelectKBest(k=2).fit_transform(points, labels)),
    ("EmpiricalCovariance", lambda points: covariance.EmpiricalCovariance().fit(points).covariance_),
    ("train_test_split", lambda points, labels: model_selection.train_test_split(points, labels, random_state=0)),
    ("cross_val_score",
     lambda points, labels: model_selection.cross_val_score(linear_model.LogisticRegression(), points, labels)),
    ("GridSearchCV",
     lambda points, labels: model_selection.GridSearchCV(svm.SVC(), {"C": [1.0, 2.0]}).fit(points, labels).best_score_),
    ("Pipeline", lambda points, labels: steps().fit(points, labels).score(points, labels)),
    ("accuracy_score", lambda labels: metrics.accuracy_score(labels, 1 - labels)),
    ("roc_auc_score", lambda labels, scores: metrics.roc_auc_score(labels, scores)),
    ("confusion_matrix", lambda labels: metrics.confusion_matrix(labels, labels)),
    ("mean_squared_error", lambda labels, scores: metrics.mean_squared_error(labels, scores)),
    ("silhouette_score", lambda points, labels: metrics.silhouette_score(points, labels)),
    ("pairwise_distances", lambda points: metrics.pairwise_distances(points)),
    ("resample", lambda points: sklearn.utils.resample(points, random_state=0)),
    ("shuffle", lambda points, labels: sklearn.utils.shuffle(points, labels, random_state=0)),
])

DISPATCH = Group("scikit-learn, array dispatch", 19, [(name, dispatched(function)) for name, function in [
    ("PCA", lambda points, labels, scores: abs(decomposition.PCA(2, svd_solver="full").fit(points).transform(points))),
    ("PCA randomized", lambda points, labels, scores: abs(randomized().fit(points).explained_variance_)),
    ("LinearDiscriminantAnalysis", lambda points, labels, scores: regressed(discriminant(), points, labels)),
    ("Ridge", lambda points, labels, scores: regressed(linear_model.Ridge(solver="svd"), points, scores)),
    ("RidgeCV", lambda points, labels, scores: regressed(linear_model.RidgeCV(), points, scores)),
    ("GaussianMixture", lambda points, labels, scores: mixed().fit(points).predict(points).shape),
    ("GaussianNB", lambda points, labels, scores: regressed(naive_bayes.GaussianNB(), points, labels)),
    ("LabelEncoder", lambda points, labels, scores: preprocessing.LabelEncoder().fit_transform(labels)),
    ("MinMaxScaler", lambda points, labels, scores: preprocessing.MinMaxScaler().fit_transform(points)),
    ("MaxAbsScaler", lambda points, labels, scores: preprocessing.MaxAbsScaler().fit_transform(points)),
    ("StandardScaler", lambda points, labels, scores: preprocessing.StandardScaler().fit_transform(points)),
    ("Normalizer", lambda points, labels, scores: preprocessing.Normalizer().transform(points)),
    ("Binarizer", lambda points, labels, scores: preprocessing.Binarizer().transform(points)),
    ("PolynomialFeatures", lambda points, labels, scores: preprocessing.PolynomialFeatures(2).fit_transform(points)),
    ("KernelCenterer", lambda points, labels, scores: preprocessing.KernelCenterer().fit_transform(points @ points.T)),
    ("train_test_split", lambda points, labels, scores: model_selection.train_test_split(points, labels, random_state=0)),
    ("cross_val_predict", lambda points, labels, scores: model_selection.cross_val_predict(discriminant(), points, labels)),
    ("accuracy_score", lambda points, labels, scores: metrics.accuracy_score(labels, 1 - labels)),
    ("f1_score", lambda points, labels, scores: metrics.f1_score(labels, labels)),
    ("confusion_matrix", lambda points, labels, scores: metrics.confusion_matrix(labels, labels)),
    ("mean_squared_error", lambda points, labels, scores: metrics.mean_squared_error(scores, scores * 2)),
    ("mean_absolute_error", lambda points, labels, scores: metrics.mean_absolute_error(scores, scores * 2)),
    ("r2_score", lambda points, labels, scores: metrics.r2_score(scores, scores * 2)),
    ("log_loss", lambda points, labels, scores: metrics.log_loss(labels, scores)),
    ("roc_auc_score", lambda points, labels, scores: metrics.roc_auc_score(labels, scores)),
    ("euclidean_distances", lambda points, labels, scores: metrics.pairwise.euclidean_distances(points)),
    ("cosine_similarity", lambda points, labels, scores: metrics.pairwise.cosine_similarity(points)),
    ("rbf_kernel", lambda points, labels, scores: metrics.pairwise.rbf_kernel(points)),
    ("check_array", lambda points, labels, scores: sklearn.utils.check_array(points)),
]], environment={"SCIPY_ARRAY_API": "1"})

test_sklearn, test_sklearn_native = SKLEARN.tests()
test_dispatch, test_dispatch_native = DISPATCH.tests()
