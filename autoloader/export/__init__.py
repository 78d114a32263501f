"""What leaves the package for training: the recommendation, and frameworks."""
