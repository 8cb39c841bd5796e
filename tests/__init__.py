"""The specification of Penstock, in a form that can fail: the folders mirror `src/penstock`."""
