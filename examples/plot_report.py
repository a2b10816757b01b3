"""
A report
========

One page about a model: what a notebook shows, and what ``save`` writes to a file.
"""

from maxmargin import LinearSVC, data

train, test = data.load_demo()
model = LinearSVC(C=0.1).fit(train.X, train.y)
made = model.report(test.X, test.y)
print(list(made.sections))

# %%
# The page itself, in a frame.
made

# %%
# Its pictures, as matplotlib figures.
figures = made.figures()
roc, confusion = figures["ROC curve"], figures["Confusion matrix"]
