"""What a lab gives its students on the web: the handout, the skeleton, the quiz as a form."""
