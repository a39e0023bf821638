"""What the rules of several operator families share."""
