"""The API server: HTTP in, rules of the API applied, answers out.

`ports` says what its neighbours plug in, `api.Engine` is everything but HTTP, `app.App` the ASGI application.
"""
