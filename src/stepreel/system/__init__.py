"""Files, cache, machine, interrupts: what every stage needs of the operating system."""
