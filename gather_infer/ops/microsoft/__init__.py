"""The rules of com.microsoft, a module per operator family."""
