"""Papers, one file each: what is published, what comes out here, and the verdict."""
