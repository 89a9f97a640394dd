# The app for strangers: `docker build -t adgm .`, then `docker run --rm -p 8501:8501 --read-only --tmpfs /tmp adgm`.
FROM python:3.12-slim AS app

# Budgets of a public server (features/limits.py). All that is written at run time goes to /tmp, so that the root file
# system may be read-only; kernels are compiled below, and copied to /tmp where /opt/kernels cannot be written.
# MALLOC_ARENA_MAX: what the threads of visitors who have left have freed is used again, not kept for each of them.
ENV ADGM_PUBLIC=1 \
    HOME=/tmp \
    XDG_CACHE_HOME=/tmp/cache \
    MPLCONFIGDIR=/tmp/matplotlib \
    NUMBA_CACHE_DIR=/opt/kernels \
    MALLOC_ARENA_MAX=2 \
    PYTHONUNBUFFERED=1

WORKDIR /app
COPY requirements.txt ./
RUN pip install --no-cache-dir -r requirements.txt

COPY . .
RUN python -m adgm.precompile && python -m compileall -q . && chmod -R a+rX /app /opt/kernels

# The documentation, which needs more packages to be built than to be served (under /docs).
FROM app AS docs
RUN pip install --no-cache-dir -r assets/docs/requirements.txt && python -m experiments docs /docs

FROM app
COPY --from=docs /docs ./out/docs
USER 1000:1000
EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8501/_stcore/health', timeout=4)"]
CMD ["python", "-m", "ui.shell.launch", "--server.address=0.0.0.0", "--server.port=8501", "--server.headless=true", "--server.fileWatcherType=none"]
