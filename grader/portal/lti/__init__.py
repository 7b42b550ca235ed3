"""LTI 1.3 Advantage: learning platforms lead to the portal, and the portal sends them the scores.

A launch begins and ends in `launch`; `flow` binds it to a browser, `messages` verifies what the
platform has signed with the keys of `platform_keys`, `refusals` has the reasons why not. `entering`
opens a session, in the platform's frame by `cookies` that browsers keep there. `deep_linking` lets
an instructor choose labs. The course signs with its own `keys`.

`client` asks a platform's services, `scores` are messages of its grade service, and `sync` sends
what is due.
"""
