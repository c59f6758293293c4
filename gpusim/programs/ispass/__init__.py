"""The programs of the ISPASS 2009 collection."""
