"""Where plugin files live as modules: under names of their own, which other processes can import too."""

import saltus.registry as _registry  # noqa: F401 - it finds the files behind the names
