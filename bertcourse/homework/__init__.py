"""Homework for who teaches: sources, and what is made of them."""
