"""
Choose among River models on a stream
=====================================

Samples arrive one by one. Several models could predict them, but you can afford to train only one on each sample. Which
one?
"""

# %%
# :class:`~risingbandits.integrations.river.RisingClassifier` is a River classifier. It trains only one model on each
# sample, and predicts with the best one so far.

from river import datasets, evaluate, linear_model, metrics, naive_bayes, preprocessing, tree

from risingbandits.integrations import RisingClassifier

models = [
    naive_bayes.GaussianNB(),
    tree.HoeffdingTreeClassifier(),
    linear_model.LogisticRegression(),
    linear_model.PAClassifier(),
]
chooser = RisingClassifier(models, seed=1)
model = preprocessing.StandardScaler() | chooser
print(evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy()))

# %%
# This is how many samples each model was trained on, and which one is best now:

for candidate, pulls in zip(chooser.models, chooser.pulls, strict=True):
    print(f"{type(candidate).__name__:24s} {pulls:5d} samples")
print("best:", type(chooser.best_model).__name__)

# %%
# For comparison, each model alone on the same stream, which takes four times the training:

alone_scores = []
for alone in models:
    score = evaluate.progressive_val_score(
        datasets.Phishing(), preprocessing.StandardScaler() | alone.clone(), metrics.Accuracy()
    )
    alone_scores.append(score.get())
    print(f"{type(alone).__name__:24s} {score}")

# %%
# Side by side: which models were trained, and which would have been worth it.

import matplotlib.pyplot as plt  # noqa: E402

names = [type(candidate).__name__ for candidate in models]
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 2.8), sharey=True, layout="constrained")
left.barh(names, chooser.pulls, color="#0072B2")
left.set(xlabel="samples it was trained on")
left.invert_yaxis()
right.plot(alone_scores, range(len(names)), "o", color="#D55E00")
right.set(xlabel="accuracy alone, trained on every sample")
plt.show()
