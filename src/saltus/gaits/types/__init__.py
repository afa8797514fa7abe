"""Gait types, one file each."""
