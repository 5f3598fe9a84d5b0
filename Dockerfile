# A board in a container: `docker build -t veridical .`, then see docs/how-to/host-a-board.md.
FROM python:3.11-slim
RUN useradd --create-home --uid 10001 board && mkdir /data && chown board /data
COPY pyproject.toml constraints.txt README.md LICENSE /src/
COPY src /src/src
RUN pip install --no-cache-dir -c /src/constraints.txt "/src[web,postgres]" && rm -rf /src
USER board
WORKDIR /data
VOLUME /data
EXPOSE 8000
# Benchmarks and their hidden folders are mounted under /benchmarks, read-only:
#   docker run -p 127.0.0.1:8000:8000 -v board:/data -v $PWD/hosted:/benchmarks:ro veridical /benchmarks/made
ENTRYPOINT ["veridical", "serve", "--data", "/data", "--host", "0.0.0.0"]
