"""Operating system services used by every stage: files, cache, machine, interrupts."""
