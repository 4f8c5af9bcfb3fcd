# The operator's image for those who build with Docker: `make docker-build IMG=…`. `make images` needs no Docker.
FROM --platform=$BUILDPLATFORM golang:1.26 AS builder
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=dev
WORKDIR /workspace
COPY go.mod go.sum ./
RUN go mod download
COPY main.go main.go
COPY api/ api/
COPY controllers/ controllers/
COPY internal/ internal/
RUN CGO_ENABLED=0 GOOS=${TARGETOS:-linux} GOARCH=${TARGETARCH} \
    go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=${VERSION}" -o etcd-operator .

FROM gcr.io/distroless/static:nonroot
# The same place as in the image that ko makes.
COPY --from=builder /workspace/etcd-operator /ko-app/etcd-operator
ENV PATH=/usr/local/bin:/usr/bin:/bin:/ko-app
USER 65532:65532
ENTRYPOINT ["/ko-app/etcd-operator"]
