"""
A messy table
=============

Copy a table with words, gaps and decimal commas, ask it a question, and fill its gaps.
"""

# %%
# The table has answers of 237 students at Adelaide (Venables & Ripley, *Modern Applied Statistics
# with S*). Lengths are in centimetres. Run this file in its own folder, ``examples/tables``.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from sliceflow import SlicedTable, impute

survey = pd.read_csv("../survey.csv", sep=";", decimal=",").drop(columns=["number", "university"])
survey.head()

# %%
# A synthetic copy
# ----------------
#
# Samples have the same columns and dtypes. They have no gaps, unless ``keep_gaps=True`` asks for
# them.

model = SlicedTable(random_state=0).fit(survey)
copy = model.sample(1000, random_state=0)
copy.head()

# %%
# Each column, with the data in blue and samples in orange. Words occur as often, and numbers have
# the same steps: many students gave their height in whole centimetres or in inches.

figure, axes = plt.subplots(3, 4, figsize=(11, 7), layout="constrained")
for axis, name in zip(axes.flat, survey.columns, strict=True):
    axis.set_title(name, fontsize=10)
    if survey[name].dtype.kind == "f":
        bins = np.linspace(survey[name].min(), survey[name].max(), 25)
        for table in (survey, copy):
            axis.hist(table[name].dropna(), bins, density=True, alpha=0.5)
    else:
        shares = [table[name].value_counts(normalize=True) for table in (survey, copy)]
        pd.concat(shares, axis=1).plot.bar(ax=axis, legend=False, xlabel="", rot=20, fontsize=7)
    axis.set_yticks([])

# %%
# A question
# ----------
#
# How wide is the writing hand of a woman, and of a man, of this height? A range, several values or
# one can be given, of any columns. Points are students. Lines are the median of samples, and four
# of five samples are in the shaded parts.

figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
for sex, colour in (("female", "tab:orange"), ("male", "tab:blue")):
    rows = survey[survey["sex"] == sex]
    heights = np.arange(*rows["height"].quantile([0.05, 0.95]), 4)
    axis.scatter(rows["height"], rows["span_writing"], s=10, color=colour, alpha=0.5, label=sex)
    given = [{"sex": sex, "height": (height - 2.5, height + 2.5)} for height in heights]
    spans = [model.sample(300, question, random_state=0)["span_writing"] for question in given]
    low, middle, high = np.quantile(np.stack(spans), (0.1, 0.5, 0.9), axis=1)
    axis.plot(heights, middle, color=colour)
    axis.fill_between(heights, low, high, color=colour, alpha=0.15)
axis.set(xlabel="height", ylabel="span of the writing hand")
_ = axis.legend()

# %%
# Gaps
# ----
#
# 45 students did not measure their pulse, and 28 did not give their height. ``impute`` draws what
# is missing, here five times: how much the five differ shows how uncertain a gap is.

completed = impute(survey, n=5, random_state=0)
gaps = survey["height"].isna()
drawn = np.stack([table.loc[gaps, "height"] for table in completed])
order = np.argsort(drawn.mean(axis=0))
colours = survey.loc[gaps, "sex"].map({"female": "tab:orange", "male": "tab:blue"})

figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
axis.vlines(range(gaps.sum()), drawn.min(axis=0)[order], drawn.max(axis=0)[order], color="0.8")
for table in drawn:
    axis.scatter(
        range(gaps.sum()), table[order], s=12, color=colours.fillna("0.5").to_numpy()[order]
    )
axis.set(xlabel="students without a height", ylabel="five draws of the height")
axis.set_xticks([])
plt.show()
