# The catalog's image for those who build with Docker: `docker build -f catalog.Dockerfile .`. `make catalog-build` needs no Docker.
FROM quay.io/operator-framework/opm:v1.65.0 AS builder
COPY catalog /configs
RUN ["/bin/opm", "serve", "/configs", "--cache-dir=/tmp/cache", "--cache-only"]

FROM quay.io/operator-framework/opm:v1.65.0
COPY --from=builder /configs /configs
COPY --from=builder --chown=1001:0 /tmp/cache /tmp/cache
LABEL operators.operatorframework.io.index.configs.v1=/configs
ENTRYPOINT ["/bin/opm"]
CMD ["serve", "/configs", "--cache-dir=/tmp/cache"]
