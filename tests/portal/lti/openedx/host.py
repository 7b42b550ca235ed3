"""A Django project that runs the LTI 1.3 code of Open edX (lti-consumer-xblock) on loopback.

The code under test is used as it is installed: its models, its views for tokens, keys, launches,
line items, scores, results, members and deep linking, and its signals. This file is the platform
around it: users, courses, blocks and the platform's own gradebook, under the names by which
lti_consumer/plugin/compat.py imports them.

python host.py FOLDER TOOL makes FOLDER/edx.db, prints one line of JSON and serves until its stdin
ends. TOOL is the address of the portal. Requests to /host/... are the tests'.
"""

from __future__ import annotations

import json
import sys
import threading
import types
import uuid
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

import django
from django.conf import settings

COURSE = "course-v1:Uni+CUDA+2027"
BLOCKS = ("first", "second")
PEOPLE = ("ada", "ben", "cyd", "zoe")


def usage_key(name: str) -> str:
    return f"block-v1:Uni+CUDA+2027+type@lti_consumer+block@{name}"


class Server(ThreadingMixIn, WSGIServer):
    """A thread for each request: the platform asks the tool for keys while it answers it."""

    daemon_threads = True


class Silent(WSGIRequestHandler):
    def log_message(self, *args: object) -> None:
        """Say nothing."""


def configure(folder: Path, base: str) -> None:
    """Set what a platform's settings say."""
    settings.configure(
        SECRET_KEY="of this test", DEBUG=False, ALLOWED_HOSTS=["127.0.0.1"], USE_TZ=True,
        ROOT_URLCONF=__name__, PLATFORM_NAME="Open edX of the tests",
        LMS_ROOT_URL=base, LTI_API_BASE=base, LTI_BASE=base, SERVICE_VARIANT="lms",
        LEARNING_MICROFRONTEND_URL=base, USAGE_ID_PATTERN=r"(?P<usage_id>(?:i4x://?[^/]+/[^/]+"
        r"/[^/]+/[^@]+(?:@[^/]+)?)|(?:[^/]+))",
        INSTALLED_APPS=[
            "django.contrib.contenttypes", "django.contrib.sessions", "django.contrib.auth",
            "rest_framework", "config_models", "lti_consumer",
        ],
        DATABASES={"default": {
            "ENGINE": "django.db.backends.sqlite3", "NAME": str(folder / "edx.db"),
            "OPTIONS": {"timeout": 30},
        }},
        CACHES={"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}},
        TEMPLATES=[{
            "BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True,
        }],
        MIDDLEWARE=[
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
            "crum.CurrentRequestUserMiddleware",
            "edx_django_utils.cache.middleware.RequestCacheMiddleware",
        ],
        DEFAULT_AUTO_FIELD="django.db.models.AutoField",
        LOGGING_CONFIG=None,
    )  # fmt: skip


def provide(name: str, **values: Any) -> None:
    """Make a module of the platform that the code under test imports by name."""
    for end in [k for k, one in enumerate(name) if one == "."] + [len(name)]:
        part = name[:end]
        if part not in sys.modules:
            sys.modules[part] = types.ModuleType(part)
            sys.modules[part].__path__ = []  # type: ignore[attr-defined]
    vars(sys.modules[name]).update(values)


GRADES: dict[str, dict[str, float]] = {}
"""The platform's gradebook: by block and user, the share of the points."""


class Block:
    """A block of the platform's course that leads to the tool."""

    has_score, weight, accept_grades_past_due, lti_1p3_passport_id = True, 10, True, ""

    def __init__(self, location: Any) -> None:
        self.location, self.display_name = location, f"Lab {location.block_id}"
        self.context_id = location.course_key
        self.scope_ids = types.SimpleNamespace(usage_id=location, user_id=None)

    def is_past_due(self) -> bool:
        return False

    def max_score(self) -> float:
        return float(self.weight)

    def set_user_module_score(self, user: Any, share: float, most: float, comment: str) -> None:
        """Store a grade as the platform's own block does, through its signal."""
        from lti_consumer.plugin.compat import publish_grade

        publish_grade(self, user, share * most, most, comment=comment)


class Outsider:
    """The ID of a user that tools are told."""

    def __init__(self, user: Any) -> None:
        self.user, self.external_user_id = user, str(uuid.uuid5(uuid.NAMESPACE_DNS, user.username))


def provide_platform() -> None:
    """Give the names of the platform that lti_consumer.plugin.compat imports."""
    from django.contrib.auth import get_user_model
    from django.dispatch import Signal

    published = Signal()

    def store(block: Any, user: Any, raw_earned: float, raw_possible: float, **more: Any) -> None:
        GRADES.setdefault(str(block.location), {})[user.username] = raw_earned / raw_possible

    published.connect(store, weak=False)

    class Missing(Exception):
        """There is no such row."""

    class Manager:
        def get(self, external_user_id: str, **more: Any) -> Outsider:
            for user in get_user_model().objects.all():
                if Outsider(user).external_user_id == external_user_id:
                    return Outsider(user)
            raise Missing

    class ExternalId:
        objects, DoesNotExist = Manager(), Missing

        @staticmethod
        def batch_get_or_create_user_ids(users: Any, kind: str) -> Any:
            return {user.id: Outsider(user) for user in users}

    class TooMany(Exception):
        """The course is too large for a list of its members."""

    def members(course_key: Any) -> Any:
        found = get_user_model().objects.all().order_by("id")
        return {
            user.id: {
                "id": user.id, "username": user.username, "email": user.email,
                "name": user.first_name, "roles": ["staff" if user.is_staff else "student"],
            }
            for user in found
        }  # fmt: skip

    class Store:
        def get_item(self, location: Any) -> Block:
            return Block(location)

    class Handler:
        pre_item_delete = Signal()

    provide("lms.djangoapps.grades.api.signals", SCORE_PUBLISHED=published)
    provide("lms.djangoapps.grades.api", signals=sys.modules["lms.djangoapps.grades.api.signals"])
    provide("openedx.core.djangoapps.external_user_ids.models", ExternalId=ExternalId)
    provide("openedx.core.djangoapps.xblock.api")
    provide("openedx.core.djangoapps.xblock", api=sys.modules["openedx.core.djangoapps.xblock.api"])
    provide("xmodule.modulestore.django", modulestore=Store, SignalHandler=Handler)
    provide("lms.djangoapps.courseware.block_render", get_block_for_descriptor=lambda **kw: None)
    provide("lms.djangoapps.course_api.api", get_course_members=members)
    provide("lms.djangoapps.course_api.exceptions", OverEnrollmentLimitException=TooMany)
    provide("common.djangoapps.student.auth", has_studio_write_access=lambda user, key: True)


def make_profiles() -> None:
    """Make the table that the platform has beside that of its users."""
    from django.conf import settings
    from django.db import connection, models

    class Profile(models.Model):
        user = models.OneToOneField(
            settings.AUTH_USER_MODEL, related_name="profile", on_delete=models.CASCADE
        )

        class Meta:
            app_label = "auth"

    with connection.schema_editor() as editor:
        editor.create_model(Profile)


urlpatterns: list[Any] = []


def make_urls() -> None:
    from django.urls import include, path

    urlpatterns.extend(
        (path("api/", include("lti_consumer.plugin.urls")), path("host/launch", launch),
         path("host/state", state))
    )  # fmt: skip


def make_course(tool: str) -> dict[str, Any]:
    """Make people, the course and a configured block for each link; return what a tool is told."""
    from django.contrib.auth import get_user_model
    from lti_consumer.models import (
        CourseAllowPIISharingInLTIFlag,
        Lti1p3Passport,
        LtiConfiguration,
    )
    from opaque_keys.edx.keys import CourseKey, UsageKey

    add = get_user_model().objects.create_user
    for name in PEOPLE:
        add(name, f"{name}@example.org", first_name=name.title())
    add("lead", "lead@example.org", first_name="Lead", is_staff=True)
    CourseAllowPIISharingInLTIFlag.objects.create(
        course_id=CourseKey.from_string(COURSE), enabled=True
    )
    passport = Lti1p3Passport.objects.create(
        name="tool", context_key=COURSE, lti_1p3_tool_keyset_url=f"{tool}/lti/keys"
    )
    links = {}
    for name, mode in zip(BLOCKS, ("programmatic", "declarative"), strict=True):
        one = LtiConfiguration.objects.create(
            version="lti_1p3", config_store="CONFIG_ON_DB", lti_1p3_passport=passport,
            location=UsageKey.from_string(usage_key(name)), lti_advantage_ags_mode=mode,
            lti_1p3_oidc_url=f"{tool}/lti/login", lti_1p3_launch_url=f"{tool}/lti/launch",
            lti_1p3_redirect_uris=[f"{tool}/lti/launch"], lti_advantage_enable_nrps=True,
            lti_advantage_deep_linking_enabled=True,
            lti_advantage_deep_linking_launch_url=f"{tool}/lti/launch",
        )  # fmt: skip
        links[name] = {"id": one.id, "resource": usage_key(name), "config": str(one.config_id)}
    base = settings.LMS_ROOT_URL
    return {
        "issuer": base, "client_id": passport.lti_1p3_client_id, "deployment": "1",
        "auth_url": f"{base}/api/lti_consumer/v1/launch/",
        "token_url": f"{base}/api/lti_consumer/v1/token/{passport.passport_id}",
        "jwks_url": f"{base}/api/lti_consumer/v1/public_keysets/{passport.passport_id}",
        "links": links,
    }  # fmt: skip


def launch(request: Any) -> Any:
    """Begin a launch of a user as the platform's page does; `deep` for deep linking."""
    from django.contrib.auth import get_user_model
    from django.http import HttpResponseRedirect
    from lti_consumer.api import get_lti_1p3_launch_start_url
    from lti_consumer.data import Lti1p3LaunchData

    user = get_user_model().objects.get(username=request.GET["user"])
    data = Lti1p3LaunchData(
        user_id=user.id, user_role="staff" if user.is_staff else "student",
        config_id=request.GET["config"], resource_link_id=request.GET["resource"],
        external_user_id=Outsider(user).external_user_id, name=user.first_name, email=user.email,
        context_id=COURSE, context_type=["course_offering"], context_title="CUDA",
        context_label=COURSE, custom_parameters={"lab": request.GET["lab"]},
    )  # fmt: skip
    return HttpResponseRedirect(get_lti_1p3_launch_start_url(data, "deep" in request.GET))


def state(request: Any) -> Any:
    """Tell the tests what the platform has."""
    from django.http import JsonResponse
    from lti_consumer.models import LtiAgsLineItem, LtiAgsScore, LtiDlContentItem

    items = [
        {"id": one.id, "config": one.lti_configuration_id, "resource": str(one.resource_link_id),
         "most": one.score_maximum, "label": one.label}
        for one in LtiAgsLineItem.objects.order_by("id")
    ]  # fmt: skip
    scores = [
        {"item": one.line_item_id, "user": one.user_id, "given": one.score_given,
         "most": one.score_maximum, "progress": one.grading_progress}
        for one in LtiAgsScore.objects.order_by("id")
    ]  # fmt: skip
    content = [one.attributes for one in LtiDlContentItem.objects.order_by("id")]
    return JsonResponse({"items": items, "scores": scores, "grades": GRADES, "content": content})


def main(folder: Path, tool: str) -> None:
    server = Server(("127.0.0.1", 0), Silent)
    configure(folder, f"http://127.0.0.1:{server.server_port}")
    sys.modules[settings.ROOT_URLCONF] = sys.modules["__main__"]
    provide_platform()
    django.setup()
    make_urls()
    from django.core.management import call_command
    from django.core.wsgi import get_wsgi_application

    call_command("migrate", verbosity=0, run_syncdb=True)
    make_profiles()
    told = make_course(tool)
    server.set_app(get_wsgi_application())
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(json.dumps(told), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
