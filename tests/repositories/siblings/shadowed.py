WHERE = "above"
