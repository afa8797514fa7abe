"""Problems of optimisation, one file each: PROBLEM makes one for a robot and a reading."""
