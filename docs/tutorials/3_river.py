"""
Choose among River models on a stream
=====================================

Samples arrive one by one. Several models could predict them, but only one can be trained on each sample. Which one?
"""

# %%
# :class:`~risingbandits.integrations.river.RisingClassifier` is a River classifier: it predicts with the model
# that is to be trained next, and trains only that one.

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
# How many samples each model was trained on, and which one is best now:

for candidate, pulls in zip(chooser.models, chooser.pulls, strict=True):
    print(f"{type(candidate).__name__:24s} {pulls:5d} samples")
print("best:", type(chooser.best_model).__name__)

# %%
# The same stream with each model alone, which needs all the training four times:

for alone in models:
    score = evaluate.progressive_val_score(
        datasets.Phishing(), preprocessing.StandardScaler() | alone.clone(), metrics.Accuracy()
    )
    print(f"{type(alone).__name__:24s} {score}")
