"""Distillation from a teacher of twice the width, compared."""
