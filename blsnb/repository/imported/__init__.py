"""The user's folders of models: followed, copied, compared, written back."""
