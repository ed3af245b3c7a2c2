"""The engines: one file each, the only one that imports that engine; heavy, so import them when needed."""
