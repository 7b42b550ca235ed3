"""A grade made again from its record: the same verdict, or what differs."""
