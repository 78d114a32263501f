"""The parent's side of a trial: start children, watch them, end them, clean up."""
