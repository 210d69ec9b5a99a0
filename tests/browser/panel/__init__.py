"""The panel beside a notebook, in JupyterLab and Notebook 7."""
