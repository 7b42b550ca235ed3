"""The pages of a class report: what they tell, what they never do, and how a browser shows them."""
