WHERE = "in the folder of the model"
