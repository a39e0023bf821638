"""What operators the package knows, and how much of each: read off schemas and rules, probed with small inputs."""
