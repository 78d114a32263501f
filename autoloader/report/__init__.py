"""What people are shown: of a study while it runs, and of what came of it."""
