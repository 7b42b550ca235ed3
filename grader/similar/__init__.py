"""Which submissions of a class are alike enough that a person should look at both."""
