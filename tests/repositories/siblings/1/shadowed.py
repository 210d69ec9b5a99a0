WHERE = "beside model.py, before the one above"
