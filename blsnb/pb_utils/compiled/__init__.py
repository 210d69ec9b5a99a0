"""What the compiled part of Triton's module does: classes, signatures, texts."""
