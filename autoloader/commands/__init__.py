"""One module a command: flags to values, one call, print. Imported light."""
