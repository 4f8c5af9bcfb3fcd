# The operator's image, with Docker, Podman or Buildah: `docker build .` in a checkout, or `make docker-build IMG=…`, which also says of which commit it is.
# It has the files, the program, the user and the labels of the image that releases have, which ko builds (`make images`, .ko.yaml); a test compares
# them (hack/packaging/images). The digest differs from build to build, since layers have times here: publish what `make release` makes.

# Give BUILDER=docker.io/library/golang@sha256:… to compile with exactly the image that you have checked. It needs Go, a shell and mkdir.
ARG BUILDER=docker.io/library/golang:1.26.8
FROM ${BUILDER} AS build
# Builders set these two; without them, it is built for the machine that builds.
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=0.10.0-dev
ENV CGO_ENABLED=0 GOFLAGS=
WORKDIR /src
COPY . .
# The flags of .ko.yaml.
RUN GOOS=${TARGETOS:-linux} GOARCH=${TARGETARCH:-$(go env GOARCH)} go build -trimpath -buildvcs=false -gcflags=all=-dwarf=false \
    -ldflags="-s -w -X main.version=${VERSION}" -o /image/ko-app/etcd-operator . && chmod 0555 /image/ko-app /image/ko-app/etcd-operator
# The few files under the program, and the licences of all that it is made of.
RUN go -C hack/packaging run ./root -source=/src -platform=${TARGETOS:-linux}/${TARGETARCH:-$(go env GOARCH)} -out=/image && \
    mkdir /home-of && mv /image/home/nonroot /home-of/nonroot

FROM scratch
ARG VERSION=0.10.0-dev
ARG REVISION=
ARG CREATED=1970-01-01T00:00:00Z
LABEL org.opencontainers.image.title=etcd-operator \
      org.opencontainers.image.version=${VERSION} \
      org.opencontainers.image.revision=${REVISION} \
      org.opencontainers.image.created=${CREATED} \
      org.opencontainers.image.source=https://github.com/etcd-operator/etcd-operator \
      org.opencontainers.image.licenses=Apache-2.0
ENV PATH=/usr/local/bin:/usr/bin:/bin:/ko-app HOME=/home/nonroot
COPY --from=build /image/ /
COPY --from=build --chown=65532:65532 /home-of/nonroot/ /home/nonroot/
WORKDIR /home/nonroot
USER 65532:65532
ENTRYPOINT ["/ko-app/etcd-operator"]
