"""How the bundled data are made from the packages that publish them."""
