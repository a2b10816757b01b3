"""
Text classification
===================

Which library does a docstring come from? Words are weighed by tf-idf, and a linear machine tells
the classes apart. The weights say by which words.
"""

import inspect

import numpy
import scipy.linalg
import scipy.optimize
import scipy.sparse
import scipy.stats
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import train_test_split

from maxmargin import LinearSVC, report

# %%
# Paragraphs of documentation that is installed anyway.
modules = {"linalg": scipy.linalg, "optimize": scipy.optimize, "stats": scipy.stats}
texts, labels = [], []
for name, module in modules.items():
    for member in vars(module).values():
        for paragraph in (inspect.getdoc(member) or "").split("\n\n"):
            if len(paragraph) > 80:
                texts.append(paragraph)
                labels.append(name)
print(len(texts), "paragraphs")

# %%
# Rows stay sparse, and float32 as they are.
train, test, y_train, y_test = train_test_split(texts, labels, random_state=0)
words = TfidfVectorizer(token_pattern=r"[a-z]{3,}", dtype=numpy.float32)
X_train, X_test = words.fit_transform(train), words.transform(test)
model = LinearSVC(C=1.0).fit(X_train, y_train)
print(model.certificate_)
print(f"{model.score(X_test, y_test):.1%} of the paragraphs are assigned correctly")

# %%
picture = report.confusion_matrix(y_test, model.predict(X_test))

# %%
# The words that speak for and against *stats*.
weights = report.top_weights(model.coef_[2], words.get_feature_names_out().tolist())
