"""One file an integration method; the file's name is the method's name and it holds one `TABLEAU`."""
