# The image of a course's server and of its workers; deploy/compose.yaml starts both.
# The first stage has a C compiler, for the simulator's core; the second has none.

FROM python:3.13-slim-bookworm AS build
RUN apt-get update -qq \
 && apt-get install -y -qq --no-install-recommends gcc libc6-dev \
 && rm -rf /var/lib/apt/lists/*
# Hidden cases are for the grader alone.
COPY labs /opt/labs
RUN chmod -R u=rwX,go= /opt/labs
WORKDIR /source
COPY pyproject.toml setup.py MANIFEST.in README.md LICENSE ./
COPY grader grader
RUN python -m venv /opt/warpgrade \
 && /opt/warpgrade/bin/pip install --no-cache-dir --quiet '.[web,postgres]' \
 && /opt/warpgrade/bin/python -m compileall -q /opt/warpgrade/lib

FROM python:3.13-slim-bookworm
RUN apt-get update -qq \
 && apt-get install -y -qq --no-install-recommends bubblewrap \
 && rm -rf /var/lib/apt/lists/* \
 && groupadd --gid 10001 grader \
 && useradd --uid 10001 --gid grader --no-create-home --home-dir /course grader
COPY --from=build /opt/warpgrade /opt/warpgrade
COPY --from=build --chown=grader:grader /opt/labs /opt/labs
ENV PATH=/opt/warpgrade/bin:$PATH WARPGRADE_LABS=/opt/labs PYTHONDONTWRITEBYTECODE=1
USER grader
WORKDIR /course
VOLUME /course
EXPOSE 8000
CMD ["grader", "serve", "--course", "/course", "--host", "0.0.0.0", "--jobs", "0"]
