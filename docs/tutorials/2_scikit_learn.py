"""
Choose among scikit-learn models
================================

Six classifiers share one training budget. A pull trains one of them on one more mini-batch; the allocator decides
which. Only the model that you keep matters here, so the objective is "best-arm".
"""

# %%
# Any estimator with ``partial_fit`` can be an arm. It trains on a mini-batch and predicts the validation data, which
# gives the reward.

from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import BernoulliNB
from sklearn.neural_network import MLPClassifier

import risingbandits as rb
from risingbandits.integrations import PartialFitArm

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, random_state=0)
X_train, X_valid, y_train, y_valid = train_test_split(X_train, y_train, random_state=0)

models = {
    "naive Bayes": BernoulliNB(binarize=0.5),
    "linear": SGDClassifier(random_state=0),
    "linear, slow": SGDClassifier(learning_rate="constant", eta0=1e-4, random_state=0),
    "network 5": MLPClassifier((5,), random_state=0),
    "network 50": MLPClassifier((50,), random_state=0),
    "network 50 50": MLPClassifier((50, 50), learning_rate_init=0.003, random_state=0),
}
data = X_train, y_train, X_valid, y_valid
arms = {name: PartialFitArm(model, *data, batch=32) for name, model in models.items()}

# %%
# The budget is 600 mini-batches: 100 for each model if shared equally.

allocator = rb.Allocator(arms, budget=600, objective="best-arm")
allocator.run(progress=False)
print(allocator.explain())

# %%
# This is the model to keep, and how it does on unseen data:

best = allocator.recommend()
accuracy = arms[best].learner.score(X_test, y_test)
print(f"{best}: {accuracy:.3f} of {len(y_test)} test images right")

# %%
# This shows which models got the budget, and how they improved:

import matplotlib.pyplot as plt  # noqa: E402

figure, axes = plt.subplots(figsize=(8, 3), layout="constrained")
for name in arms:
    axes.plot(allocator.rewards(name), label=f"{name} ({len(allocator.rewards(name))} pulls)", linewidth=1)
axes.set(xlabel="pulls of the model", ylabel="share of validation images right", ylim=(0, 1))
axes.legend(fontsize=8, frameon=False)
plt.show()
