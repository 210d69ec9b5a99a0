"""The kernel's side of the panel in JupyterLab and Notebook 7."""
