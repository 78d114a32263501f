"""Compare what arrived with the reference. Pure: digests in, findings out."""
