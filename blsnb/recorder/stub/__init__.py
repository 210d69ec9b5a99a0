"""What runs in the Python of a server's models, without blsnb.

`blsnb.recorder.installation` joins these files to one, which runs on Python 3.8 and
later and needs NumPy's arrays only as the models pass them.
"""
