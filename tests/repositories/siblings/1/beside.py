WHERE = "beside model.py"
