"""The portal: students submit and watch, staff see the class.

`app` makes the web server's application of a course, `worker` grades what waits in its gradebook.
They share nothing but the gradebook, so that a small course runs both in one command and a large
one runs workers on many machines. `access` is the table of who may do what; every route asks it.
"""
