"""Statistics beyond the standard: quantiles, histograms, covariances, and what passes over NaN."""
