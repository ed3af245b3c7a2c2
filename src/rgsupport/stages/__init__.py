"""The stages of a run, one module each; every one reads what the one before it wrote."""
