"""Read the machine and its processes, and work rates and bounds out of readings."""
