"""The methods that are compared, null baselines among them. No method sees a label.

base       what a method is, what it is given and what it returns
baselines  methods that do not look at the recordings
clustered  k-means on raw features
learned    the paper's method, and stepreel's
catalog    all of them by name, those of other packages included
runner     run a method, or read back what it predicted before
"""
