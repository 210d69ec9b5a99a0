WHERE = "beside model.py, late"
