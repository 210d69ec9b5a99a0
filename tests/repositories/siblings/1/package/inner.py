WHERE = "in a package"
