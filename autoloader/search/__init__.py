"""Try configs, race the best, choose: the only package that imports optuna."""
