# `make help` lists the targets. Everything is built from source by Go; no binary is downloaded.
SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# After a version was cut the pre-release of the next.
VERSION ?= 0.10.0-dev
TAG ?= v$(VERSION)
REPOSITORY := etcd-operator/etcd-operator
# The name of the image in manifests. There is no such registry, and can be none (RFC 2606): a release names one of your choosing.
IMAGE := registry.example/$(REPOSITORY)
# Where `make images` pushes: the local cluster's registry, from which its nodes pull every name.
REGISTRY ?= 127.0.0.1:5000
# Give IMG to push to, or deploy from, somewhere else. Without it `make deploy` uses exactly what `make images` pushed last.
IMG ?=
# What builds the Dockerfile: docker, podman or buildah. BUILDER is the image with Go, BUILD_FLAGS and PUSH_FLAGS are its own, such as
# PUSH_FLAGS=--tls-verify=false with the latter two for a registry without TLS.
CONTAINER_TOOL ?= docker
BUILDER ?=
BUILD_FLAGS ?=
PUSH_FLAGS ?=
# The published release before this one, which Operator Lifecycle Manager updates from, such as etcd-operator.v0.7.0.
REPLACES ?=
# Give IMAGE_REGISTRY=host[:port][/path] to have dist/bundle, whose images are the digests that this registry holds.
IMAGE_REGISTRY ?=
BUNDLE ?= $(if $(IMAGE_REGISTRY),dist/bundle,bundle)
# Those that a release is made for.
PLATFORMS ?= linux/amd64,linux/arm64
# Those that the plugin for kubectl is released for.
PLUGIN_PLATFORMS ?= linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64
# Give PLUGIN_URL=https://… to have a manifest for krew: the folder from which the archives of the plugin will be downloaded.
PLUGIN_URL ?=
# The private key that signs a release: cosign.key of `cosign generate-key-pair`, with COSIGN_PASSWORD, or a plain one in PEM.
SIGN_KEY ?=
# Which versions release-earlier publishes: all of the catalog's template that nobody is advised against, unless some are named.
EARLIER ?=
BUNDLE_IMG ?= $(REGISTRY)/$(REPOSITORY)-bundle:$(TAG)
SCORECARD_IMG ?= $(REGISTRY)/$(REPOSITORY)-scorecard:$(TAG)
CATALOG ?= $(if $(IMAGE_REGISTRY),dist/catalog,catalog)
# Give IMG to have dist/chart, whose image is that.
CHART ?= $(if $(IMG),dist/chart/etcd-operator,charts/etcd-operator)
CATALOG_IMG ?= $(REGISTRY)/$(REPOSITORY)-catalog:$(TAG)
# Nodes of the local cluster, 1 to 5; without it as many as it had, at first one.
NODES ?=
DEVCLUSTER_FLAGS ?=
# The families of IP addresses that test-dual-stack wants of the local cluster: IPv4,IPv6 or IPv6,IPv4.
IP_FAMILIES ?= IPv4,IPv6
BENCH_FLAGS ?=
# Give KUBERNETES=1.31.14 to test on the API server of that version alone.
KUBERNETES ?=
MUTANTS ?=

BIN := $(CURDIR)/bin
export PATH := $(CURDIR)/.devcluster/bin:$(PATH)
export VERSION IMG
# What everything is compiled with, the local cluster (hack/devcluster/internal/build) and images (.ko.yaml) too: packages that are compiled
# with other flags are compiled again. Version stamps would make two builds of one commit differ, and fail where git distrusts the owner
# of the folder; the tag leaves a C library out.
go_flags := -trimpath -buildvcs=false -gcflags=all=-dwarf=false -tags=containers_image_openpgp
export GOFLAGS := $(strip $(filter-out $(go_flags),$(GOFLAGS)) $(go_flags))
export CGO_ENABLED=0
# The race detector is made of C.
race := CGO_ENABLED=1 go test -race
# The compiler may take more memory, for less time.
build := GOGC=400 go
# Images carry their commit, with -dirty where files differ from it, and its time. Releases are made of clean trees only (hack/revision.sh).
export REVISION ?= $(shell git -c safe.directory='*' describe --always --dirty --abbrev=40 --exclude='*' 2>/dev/null)
export SOURCE_DATE_EPOCH ?= $(or $(shell git -c safe.directory='*' log -1 --format=%ct 2>/dev/null),0)

UNIT_PACKAGES = . ./api/... ./cmd/... ./internal/... ./controllers/... ./test/bench/... ./test/docs ./test/e2e/internal/... ./test/load/... ./test/scorecard-tests ./hack/faults ./hack/gate ./hack/mutants ./hack/served
# They share nothing, which depguard sees to: the race detector would only make their walks ten times as slow. It looks at them with all
# the others in test-envtest.
PURE_PACKAGES = ./internal/backup/archive/boltstream ./internal/backup ./internal/backup/log ./internal/cluster/report ./internal/restore \
  ./internal/backup/schedule ./internal/certs ./internal/cluster/slow ./internal/etcd/version ./test/docs
ENVTEST_PACKAGES = ./api/... ./controllers/...
pushed = $(BIN)/image.txt
manifest_image = $(or $(IMG),$(if $(wildcard $(pushed)),$(file <$(pushed)),$(IMAGE):$(TAG)))
# Seconds since 1970 as a time, by GNU's date or by that of BSD and macOS.
rfc3339 = $(shell date -u -d @$(1) +%FT%TZ 2>/dev/null || date -u -r $(1) +%FT%TZ)
say = @printf '\n==> %s\n'

##@ Start here

.PHONY: help
help: ## List the targets
	@awk 'BEGIN { FS = ":.*## "; print "make TARGET" } \
	  /^##@ / { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z0-9-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## Start a local Kubernetes with the operator, and watch an etcd cluster live on it
	$(say) "demo"
	@CLUSTER_UP=hack/demo-cluster.sh hack/with-cluster.sh hack/demo.sh

# What other tests of the same run test already is left out of the unit tests. End-to-end tests come last, with nothing beside them: members
# and clients that wait for a processor look like a defect.
.PHONY: test
test: ## The tests of each change, one stage after the other, end to end on a real cluster too; test-all has all others
	@TESTED='$(ENVTEST_PACKAGES)' go run ./hack/gate stages verify-quick lint test-unit test-envtest packaging-changed \
	  cluster-up! test-gate helm-changed olm-changed

# What the tests of each change are built of. Fetched one after the other, as it is needed, it takes minutes on a new machine.
TEST_MODULES = . hack/packaging test/packaging test/gitops hack/devcluster hack/components/cluster hack/components/containerd hack/components/pause \
  $(wildcard hack/components/etcd-*) $(addprefix hack/tools/,controller-gen crd-ref-docs golangci-lint kustomize operator-sdk)
.PHONY: modules
modules: ## Fetch the Go modules of which the tests of each change are built
	$(say) "fetch Go modules"
	@printf '%s\n' $(TEST_MODULES) | xargs -P 6 -I{} go -C {} mod download

STAGES = test-etcd test-stores cluster-up! helm-test olm-test scorecard test-monitoring test-certmanager \
  test-snapshots test-network verify test-envtest $(addprefix test-e2e-,$(E2E_PARTS)) test-matrix test-long test-dual-stack olmv1-test
.PHONY: test-all
test-all: ## Every test, before a release, or some (STAGES=…): installers, stores, etcd processes, crashes at each write; recorded in docs/test-runs.md
	@go run ./hack/gate all $(STAGES)

##@ Tests

# What other tests of the same run test already: packages that the unit tests leave out.
TESTED ?=
.PHONY: test-unit
test-unit: ## Unit tests, with the race detector where something is shared, and the planner's whole walk
	$(say) "unit tests"
	@shared=$$(go list $(UNIT_PACKAGES) | grep -vxFf <(go list $(PURE_PACKAGES) ./internal/cluster/plan $(TESTED))); hack/with-envtest.sh env $(race) -short $$shared
	@go test -short $(PURE_PACKAGES) & pure=$$!; go test -timeout 20m ./internal/cluster/plan && wait $$pure

.PHONY: mutants
mutants: ## Put deliberate bugs into the product and see whether the unit tests notice (MUTANTS=regular expression)
	$(say) "mutants"
	@hack/with-envtest.sh go run ./hack/mutants -run='$(MUTANTS)'

.PHONY: test-envtest
test-envtest: ## Tests against a real kube-apiserver and etcd
	$(say) "tests against a kube-apiserver"
	@hack/with-envtest.sh env $(race) -tags envtest -parallel 4 -timeout 25m $(ENVTEST_PACKAGES)

.PHONY: test-matrix
test-matrix: ## Crashes before and after every write of every kind of work, of which the tests above take samples (end to end, too)
	$(say) "crashes at every write"
	@MATRIX=full hack/with-envtest.sh go test -count=1 -tags envtest -timeout 60m -run OperatorDies -v ./controllers
	@E2E_MATRIX=full $(MAKE) test-e2e E2E_LABELS=matrix

# What -short leaves out of the unit tests; what takes longest comes first. They mostly wait. Without the race detector, by which they take
# five times as long: it looks at these packages in the unit tests.
PROCESS_PACKAGES = ./controllers ./controllers/copier ./internal/etcd ./internal/restore/datadir ./internal/cluster/crash ./internal/backup/archive ./internal/backup/worker ./internal/backup/log/writer

.PHONY: test-etcd
test-etcd: $(BIN)/devcluster ## Tests against real etcd processes of each minor version
	$(say) "tests against etcd processes"
	@$(BIN)/devcluster build --only images
	@hack/with-envtest.sh go test -count=1 -p 4 -parallel 4 -timeout 25m $(PROCESS_PACKAGES)

.PHONY: test-stores
test-stores: ## Tests of backup stores against real servers: S3, Google and Azure (needs Node 20 for the last); end to end in S3
	$(say) "tests against object stores"
	@hack/store-servers.sh
	@go test -count=1 -parallel 8 -timeout 15m ./internal/backup/objectstore
	@$(MAKE) test-e2e E2E_LABELS=stores

.PHONY: test-snapshots
test-snapshots: ## End-to-end tests of backups by VolumeSnapshot, on the local cluster with a CSI driver that takes them
	@$(MAKE) test-e2e E2E_LABELS=snapshots E2E_PROCS=1 DEVCLUSTER_FLAGS=--snapshots

.PHONY: test-network
test-network: ## End-to-end tests of network policies, on the local cluster, which enforces them from then on
	@$(MAKE) test-e2e E2E_LABELS=network DEVCLUSTER_FLAGS=--network-policies

.PHONY: test-certmanager
test-certmanager: ## End-to-end tests with cert-manager, on the local cluster
	@$(MAKE) test-e2e E2E_LABELS=certmanager DEVCLUSTER_FLAGS=--cert-manager

# How long they may take together. Ginkgo has a limit of its own.
E2E_TIMEOUT ?= 60m
E2E_LIMITS = -ginkgo.no-color -timeout $(E2E_TIMEOUT) -ginkgo.timeout=$(E2E_TIMEOUT)

# Which end-to-end tests: a label filter of Ginkgo, such as 'long' or 'faults && !long'.
E2E_LABELS ?= !long && !olm && !olmv1 && !helm && !scorecard && !stores && !certmanager && !monitoring && !dualstack

# How many of them run side by side: to start a Pod takes a processor 4 s, so that more specs than processors only wait for each other. Those
# that are marked Serial run alone, after the others.
E2E_PROCS ?= $(shell nproc 2>/dev/null || echo 2)

.PHONY: test-monitoring
test-monitoring: $(BIN)/prometheus $(BIN)/golangci-lint ## Alerts with a real Prometheus: by promtool, and fired by clusters in trouble (builds it, about 6 minutes)
	$(say) "alerts and monitors"
	@cd test/monitoring && go mod tidy -diff && $(BIN)/golangci-lint run --allow-parallel-runners ./... && go test -count=1 ./...
	@$(MAKE) test-e2e E2E_LABELS=monitoring

# Prometheus and promtool, without what finds targets in clouds.
$(BIN)/prometheus: test/monitoring/go.mod
	$(say) "build Prometheus"
	@mkdir -p $(BIN)
	@cd test/monitoring && go build -tags remove_all_sd,enable_kubernetes_sd -o $(BIN)/ \
	  github.com/prometheus/prometheus/cmd/prometheus github.com/prometheus/prometheus/cmd/promtool
	@touch $@

.PHONY: test-e2e
test-e2e: $(BIN)/ginkgo ## End-to-end tests on the cluster of KUBECONFIG, or on the local one (E2E_PROCS=1: one at a time)
	$(say) "end-to-end tests"
	@hack/with-cluster.sh bash -c '$(MAKE) images deploy && \
	  go run ./hack/gate specs -ginkgo=$(BIN)/ginkgo -procs=$(E2E_PROCS) -labels="$(E2E_LABELS)" -files="$(E2E_FILES)" -timeout=$(E2E_TIMEOUT)'

# All of them take hours: test-all makes them in parts, by the first letter of their files, each of which it need not make again.
# suite_test.go has the container of all specs: by its name, all would run.
E2E_PARTS = a-c d-k l-o p-r s-z
.PHONY: $(addprefix test-e2e-,$(E2E_PARTS))
$(addprefix test-e2e-,$(E2E_PARTS)): test-e2e-%:
	@$(MAKE) test-e2e E2E_FILES='test/e2e/$(subst [s-z],(s[^u]|[t-z]),[$*])'

# One spec for each feature, those that tell a defect from a busy machine.
.PHONY: test-gate
test-gate: ## The end-to-end tests of each change: one or two of each feature
	@$(MAKE) test-e2e E2E_LABELS='gate && !quarantine'

# Of the version that the tests are written with, as it wants it. Always asked; the Go build cache makes it a matter of a second.
.PHONY: $(BIN)/ginkgo
$(BIN)/ginkgo:
	@mkdir -p $(BIN)
	@go build -o $(BIN)/ginkgo github.com/onsi/ginkgo/v2/ginkgo

# The API server's, of all that ran since it was started: test-rights follows test-e2e and test-long, because some rights are for
# what only the latter do.
AUDIT_LOG ?= .devcluster/logs/audit.log

.PHONY: test-rights
test-rights: ## Whether tests have used each right that the operator has (AUDIT_LOG=file; default: of the local cluster)
	$(say) "rights"
	@go run ./test/rights -log=$(AUDIT_LOG)

.PHONY: test-long
test-long: ## The rest of the end-to-end tests: more of a kind, under load, with bad networks and slow disks, by hand, on three nodes (hours)
	@$(MAKE) test-e2e E2E_LABELS='long && !olm && !helm && !snapshots' E2E_TIMEOUT=300m NODES=$(or $(NODES),3)

# The local cluster is brought down for it, and stays down.
.PHONY: test-dual-stack
test-dual-stack: $(BIN)/devcluster ## Both families of IP addresses, end to end on a local cluster that is made for it (IP_FAMILIES=IPv6,IPv4)
	@$(BIN)/devcluster down
	@$(MAKE) test-e2e E2E_LABELS=dualstack DEVCLUSTER_FLAGS="--ip-families=$(IP_FAMILIES)"
	@$(BIN)/devcluster down

.PHONY: test-kubernetes
test-kubernetes: $(BIN)/devcluster ## Before a release: validation and wiring on each Kubernetes from 1.30 on, end to end on a whole 1.30 (an hour)
	$(say) "tests on older versions of Kubernetes"
	@hack/test-kubernetes.sh $(KUBERNETES)

.PHONY: bench
bench: $(BIN)/etcdutl ## Measure the operator on the cluster of KUBECONFIG, or on the local one
	$(say) "benchmarks"
	@PATH=$(BIN):$$PATH hack/with-cluster.sh bash -c '$(MAKE) images deploy && go run ./test/bench $(BENCH_FLAGS)'

# By which benchmarks restore by hand: of the version that clusters have by default.
$(BIN)/etcdutl: hack/components/etcd-3.6.16/go.mod
	@mkdir -p $(BIN)
	@go -C hack/components/etcd-3.6.16 build -o $@ go.etcd.io/etcd/etcdutl/v3
	@touch $@

.PHONY: verify
verify: tools ## What a release needs: generated files up to date, tidy modules, fit packages, lint, unit tests
	$(say) "verify"
	@hack/verify.sh

# What is published, and how its packages are made. Not the API and what is generated of it: those change with each feature.
PACKAGING_PATHS = bundle.Dockerfile catalog-templates config/manifests config/default config/manager config/scorecard releases Dockerfile .ko.yaml \
  go.mod '*/go.mod' hack/packaging hack/bundle.sh hack/catalog.sh hack/chart.sh hack/etcd-images.sh hack/re*.sh test/packaging \
  docs/install.md SECURITY.md
.PHONY: verify-packaging
verify-packaging: $(BIN)/helm
	@hack/verify.sh packaging
.PHONY: packaging-changed
packaging-changed:
	@go run ./hack/gate changed verify-packaging verify $(PACKAGING_PATHS)

.PHONY: verify-quick
verify-quick: ## The checks of each change: generated files up to date, scripts, the local cluster's programs
	$(say) "verify"
	@GOGC=400 hack/verify.sh quick

##@ Generate

.PHONY: generate
generate: $(BIN)/controller-gen ## Deep copies of the API types
	$(say) "generate deep copies"
	@$(BIN)/controller-gen object:headerFile=hack/boilerplate.go.txt paths=./api/...

.PHONY: manifests
manifests: $(BIN)/controller-gen ## CRDs and roles, from the types and markers
	$(say) "generate CRDs and roles"
	@$(BIN)/controller-gen crd rbac:roleName=manager-role paths=./api/... paths=./controllers/... output:crd:artifacts:config=config/crd/bases
	@go run ./hack/served config/crd/bases/*.yaml

.PHONY: docs
docs: $(BIN)/crd-ref-docs ## API reference, from the types; the table of faults, from docs/faults.yaml and the tests
	$(say) "generate docs/reference/api.md and docs/faults.md"
	@go run ./hack/faults
	@mkdir -p docs/reference
	@$(BIN)/crd-ref-docs --source-path=api --config=hack/tools/crd-ref-docs/config.yaml \
	  --renderer=markdown --output-path=docs/reference/api.md --log-level=ERROR

.PHONY: lint
lint: $(BIN)/golangci-lint ## Lint the Go code
	$(say) "lint"
	@GOGC=400 $(BIN)/golangci-lint run --allow-parallel-runners
	@cd hack/packaging && $(BIN)/golangci-lint run --allow-parallel-runners --build-tags=containers_image_openpgp ./...
	@cd test/packaging && $(BIN)/golangci-lint run --allow-parallel-runners --build-tags=containers_image_openpgp ./...
	@cd hack/devcluster && $(BIN)/golangci-lint run --allow-parallel-runners ./...
	@cd test/gitops && $(BIN)/golangci-lint run --allow-parallel-runners ./...

.PHONY: fmt
fmt: $(BIN)/golangci-lint ## Format the Go code as lint wants it
	$(say) "format"
	@$(BIN)/golangci-lint fmt

##@ Local cluster

.PHONY: cluster-up
cluster-up: $(BIN)/devcluster ## Build and start a real Kubernetes on this machine (NODES=3, DEVCLUSTER_FLAGS=…)
	$(say) "start the local cluster (the first time it is built from source, about 7 minutes on 2 idle cores)"
	@$(BIN)/devcluster up $(if $(NODES),--nodes $(NODES)) $(DEVCLUSTER_FLAGS)

.PHONY: cluster-down
cluster-down: $(BIN)/devcluster ## Stop the local cluster
	$(say) "stop the local cluster"
	@$(BIN)/devcluster down

.PHONY: run
run: install ## Run the operator here, outside the cluster, against your kubeconfig
	$(say) "run the operator"
	@go run . manager --metrics-bind-address=0

##@ Images and manifests

.PHONY: build
build: ## Compile the operator into bin/manager
	$(say) "build bin/manager"
	@mkdir -p $(BIN)
	@$(build) build -o $(BIN)/manager .

.PHONY: vet
vet: ## What go vet finds; lint has it, too
	$(say) "vet"
	@go vet ./...

.PHONY: compile
compile: ## Compile the operator and what makes images of it, which is then ready in seconds
	@$(build) build -o /dev/null .
	@$(build) -C hack/packaging build ./images ./bundle ./catalog

.PHONY: kubectl-plugin
kubectl-plugin: ## Build the plugin for kubectl into bin/: with that folder in PATH, `kubectl etcd` is there
	$(say) "build bin/kubectl-etcd"
	@mkdir -p $(BIN)
	@$(build) build -ldflags="-s -w -X main.version=$(VERSION)" -o $(BIN)/kubectl-etcd ./cmd/kubectl-etcd

.PHONY: images
images: ## Build the image with ko and push it to the local registry, or to IMG
	$(say) "build and push $(or $(IMG),$(REGISTRY)/$(REPOSITORY):$(TAG))"
	@mkdir -p $(BIN)
	@$(build) -C hack/packaging run ./images -source=$(CURDIR) -push=$(or $(IMG),$(REGISTRY)/$(REPOSITORY):$(TAG)) -digest=$(BIN)/image.digest
	@printf '%s@%s\n' "$(or $(IMG),$(IMAGE):$(TAG))" "$$(cat $(BIN)/image.digest)" >$(pushed)

.PHONY: image-tarball
image-tarball: ## Build the image with ko into dist/etcd-operator.tar, which docker load reads; needs no Docker and no registry
	$(say) "build dist/etcd-operator.tar"
	@$(build) -C hack/packaging run ./images -source=$(CURDIR) -tag=$(or $(IMG),$(IMAGE):$(TAG)) -tarball=$(CURDIR)/dist/etcd-operator.tar

.PHONY: docker-build
docker-build: ## Build the image with the Dockerfile (IMG=…, CONTAINER_TOOL=docker|podman|buildah)
	$(say) "build $(or $(IMG),$(IMAGE):$(TAG)) with $(CONTAINER_TOOL)"
	@$(CONTAINER_TOOL) build --tag $(or $(IMG),$(IMAGE):$(TAG)) --build-arg VERSION=$(VERSION) --build-arg REVISION=$(REVISION) \
	  --build-arg CREATED=$(call rfc3339,$(SOURCE_DATE_EPOCH)) $(if $(BUILDER),--build-arg BUILDER=$(BUILDER)) $(BUILD_FLAGS) .

.PHONY: docker-push
docker-push: ## Push the image that docker-build made (IMG=…)
	$(say) "push $(or $(IMG),$(IMAGE):$(TAG)) with $(CONTAINER_TOOL)"
	@$(CONTAINER_TOOL) push $(PUSH_FLAGS) $(or $(IMG),$(IMAGE):$(TAG))

.PHONY: install-manifest
install-manifest: $(BIN)/kustomize manifests ## Write dist/install.yaml: everything to install, in one file (IMG=…)
	$(say) "write dist/install.yaml with $(or $(IMG),$(IMAGE):$(TAG))"
	@mkdir -p dist
	@hack/render.sh "$(or $(IMG),$(IMAGE):$(TAG))" >dist/install.yaml.new && mv dist/install.yaml.new dist/install.yaml

# As projects of Operator SDK call it.
.PHONY: build-installer
build-installer: install-manifest

.PHONY: helm-chart
helm-chart: $(BIN)/kustomize manifests ## Generate charts/etcd-operator of what install-manifest writes, or dist/chart (IMG=…)
	$(say) "generate $(CHART) with $(or $(IMG),$(IMAGE):$(TAG))"
	@hack/chart.sh "$(VERSION)" "$(or $(IMG),$(IMAGE):$(TAG))" "$(CHART)"

.PHONY: install
install: $(BIN)/kustomize manifests ## Install the CRDs
	$(say) "install the CRDs"
	@$(BIN)/kustomize build config/crd | kubectl apply --server-side --force-conflicts -f -

.PHONY: uninstall
uninstall: $(BIN)/kustomize ## Remove the CRDs, and with them every EtcdCluster
	$(say) "remove the CRDs"
	@$(BIN)/kustomize build config/crd | kubectl delete --ignore-not-found -f -

.PHONY: deploy
deploy: $(BIN)/kustomize manifests ## Install the operator, with the image that `make images` pushed last or IMG
	$(say) "deploy $(manifest_image)"
	@hack/leave-olm.sh
	@hack/render.sh "$(manifest_image)" | kubectl apply --server-side --force-conflicts -f -
	@kubectl -n etcd-operator-system rollout status deployment/etcd-operator-controller-manager --timeout=3m

.PHONY: undeploy
undeploy: $(BIN)/kustomize ## Remove the operator and its CRDs, and with them every EtcdCluster
	$(say) "remove the operator"
	@if kubectl get crd subscriptions.operators.coreos.com >/dev/null 2>&1; then \
	  kubectl -n etcd-operator-system delete subscriptions.operators.coreos.com,clusterserviceversions --all; fi
	@$(BIN)/kustomize build config/default | kubectl delete --ignore-not-found -f -

##@ Operator Lifecycle Manager

.PHONY: bundle
bundle: $(BIN)/operator-sdk $(BIN)/kustomize manifests ## Generate bundle/, or dist/bundle with images by digest (IMAGE_REGISTRY=…)
	$(say) "generate $(BUNDLE)"
	@$(BIN)/operator-sdk generate kustomize manifests --quiet
	@hack/bundle.sh "$(VERSION)" "$(BUNDLE)" "$(REPLACES)"
	@$(if $(IMAGE_REGISTRY),go -C hack/packaging run ./bundle pin -bundle="$(abspath $(BUNDLE))" -registry="$(IMAGE_REGISTRY)")

.PHONY: bundle-build
bundle-build: ## Build the image of the bundle, in dist/images/bundle (BUNDLE=folder)
	$(say) "build dist/images/bundle"
	@rm -rf dist/images/bundle && mkdir -p dist/images
	@go -C hack/packaging run ./bundle image -source="$(abspath $(BUNDLE))" -layout=$(CURDIR)/dist/images/bundle

.PHONY: bundle-push
bundle-push: ## Push what bundle-build made to the local registry, or to BUNDLE_IMG
	$(say) "push $(BUNDLE_IMG)"
	@mkdir -p $(BIN)
	@go -C hack/packaging run ./release push -layout=$(CURDIR)/dist/images/bundle -to="$(BUNDLE_IMG)" -digest=$(BIN)/bundle.digest

.PHONY: catalog
catalog: ## Render catalog/ and the upgrade graph, or dist/catalog with dist/bundle (IMAGE_REGISTRY=…)
	$(say) "render $(CATALOG)"
	@hack/catalog.sh render -out="$(CATALOG)" -bundle="$(BUNDLE)" \
	  $(if $(IMAGE_REGISTRY),-repository="$(IMAGE_REGISTRY)/$(REPOSITORY)-bundle") \
	  $(if $(filter catalog,$(CATALOG)),-graph=docs/upgrade-graph.md -unpublished)

.PHONY: catalog-build
catalog-build: ## Build the image of the catalog, in dist/images/catalog (CATALOG=folder)
	$(say) "build dist/images/catalog"
	@rm -rf dist/images/catalog && mkdir -p dist/images
	@hack/catalog.sh image -catalog="$(CATALOG)" -layout=dist/images/catalog

.PHONY: catalog-push
catalog-push: ## Push what catalog-build made to the local registry, or to CATALOG_IMG
	$(say) "push $(CATALOG_IMG)"
	@mkdir -p $(BIN)
	@go -C hack/packaging run ./release push -layout=$(CURDIR)/dist/images/catalog -to="$(CATALOG_IMG)" -digest=$(BIN)/catalog.digest

.PHONY: release
release: $(BIN)/kustomize ## Make all that is published, in dist/release/VERSION: images, plugin, SBOM, notes (VERSION=…, IMAGE_REGISTRY=…, PLUGIN_URL=…)
	$(say) "release $(VERSION)"
	@PLUGIN_PLATFORMS="$(PLUGIN_PLATFORMS)" PLUGIN_URL="$(PLUGIN_URL)" hack/release.sh "$(VERSION)" "$(IMAGE_REGISTRY)" "$(PLATFORMS)"

.PHONY: release-push
release-push: ## Push and sign what release made, see whether its catalog can be installed, and keep the bundle in releases/ (SIGN_KEY=file)
	$(say) "push release $(VERSION)"
	@hack/release-push.sh "$(VERSION)" "$(SIGN_KEY)"

.PHONY: release-earlier
release-earlier: ## Build, push and sign earlier versions, so that catalogs which are released there later have them (IMAGE_REGISTRY=…, SIGN_KEY=file, EARLIER="0.8.0 0.9.0")
	$(say) "publish earlier releases"
	@hack/release-earlier.sh "$(IMAGE_REGISTRY)" "$(SIGN_KEY)" "$(PLATFORMS)" "$(EARLIER)"

.PHONY: olm-install
olm-install: ## Install this tree on the local cluster by Operator Lifecycle Manager, from a catalog with only it
	$(say) "install by Operator Lifecycle Manager"
	@hack/olm-install.sh

# Neither runs beside an operator that is installed without OLM. Both need the local cluster, whose registry and images they use.
define with_olm
	@$(MAKE) cluster-up DEVCLUSTER_FLAGS="--olm $(OLM_CLUSTER)"
	@export KUBECONFIG=$$($(BIN)/devcluster kubeconfig); \
	  if kubectl get namespace etcd-operator-system >/dev/null 2>&1; then $(MAKE) undeploy; fi; \
	  go test ./test/e2e -v -ginkgo.v -ginkgo.label-filter="$(1)" $(E2E_LIMITS)
endef

# Which tests of OLM: a label filter of Ginkgo, such as 'olm && !long', or 'olmv1'.
OLM_LABELS ?= olm
# With what, besides OLM, the local cluster is started for them. OLM v1 has policies of its own, which were never enforced here.
olm-test: OLM_CLUSTER ?= $(if $(findstring olmv1,$(OLM_LABELS)),,--network-policies --cert-manager)

# With the scorecard, which runs what has been released for the others.
.PHONY: olm-test-short
olm-test-short: $(BIN)/operator-sdk
	@$(MAKE) olm-test OLM_LABELS='(olm && !long) || scorecard' OLM_CLUSTER=

# What an installation by OLM depends on beside what end-to-end tests test: what is published, and what an update does to Pods that run.
OLM_PATHS = bundle.Dockerfile catalog-templates config/manifests config/manager config/scorecard releases main.go internal/cluster/specs \
  controllers/etcdcluster_installation.go controllers/operatorcondition.go controllers/manager controllers/lease \
  test/e2e/olm*.go test/e2e/scorecard*.go test/scorecard-tests hack/bundle.sh hack/catalog.sh hack/olm-install.sh hack/release*.sh docs/install.md
.PHONY: olm-changed
olm-changed:
	@go run ./hack/gate changed olm-test-short olm-test $(OLM_PATHS)

.PHONY: olm-test
olm-test: E2E_TIMEOUT = 120m
olm-test: $(BIN)/opm $(BIN)/helm $(BIN)/kustomize $(BIN)/devcluster ## Install and update through Operator Lifecycle Manager on the local cluster (OLM_LABELS=olmv1: by OLM v1)
	$(say) "tests with Operator Lifecycle Manager"
	@$(if $(findstring olmv1,$(OLM_LABELS)),$(BIN)/devcluster build --only olmv1)
	@$(if $(findstring scorecard,$(OLM_LABELS)),$(BIN)/devcluster build --only scorecard)
	$(call with_olm,$(OLM_LABELS))

.PHONY: olmv1-test
olmv1-test:
	@$(MAKE) olm-test OLM_LABELS=olmv1

.PHONY: scorecard
scorecard: $(BIN)/opm $(BIN)/operator-sdk ## Run the scorecard of Operator SDK on the local cluster
	$(say) "scorecard"
	@$(BIN)/devcluster build --only scorecard
	$(call with_olm,scorecard)

.PHONY: scorecard-image
scorecard-image: ## Build the image of our own scorecard tests and push it to the local registry, or to SCORECARD_IMG
	$(say) "build and push $(SCORECARD_IMG)"
	@mkdir -p $(BIN)
	@$(build) -C hack/packaging run ./images -source=$(CURDIR) -main=./test/scorecard-tests -title=etcd-operator-scorecard -push=$(SCORECARD_IMG) -digest=$(BIN)/scorecard.digest

##@ Helm

# Which tests of Helm: a label filter of Ginkgo, such as 'helm && !long'.
HELM_LABELS ?= helm
# With which Helm, one after the other: 3 and 4 are the pinned ones, another word is the file of a program.
HELM ?= 3 4
helm_3 := $(BIN)/helm
helm_4 := $(BIN)/helm4
helm_programs = $(foreach which,$(HELM),$(or $(helm_$(which)),$(which)))

.PHONY: helm-test
helm-test: $(helm_3) $(helm_4) $(BIN)/kustomize $(BIN)/devcluster ## Install, upgrade, take over and uninstall by Helm 3 and 4 on the local cluster (HELM=4, or another program)
	$(say) "tests with Helm"
	@$(MAKE) cluster-up
	@export KUBECONFIG=$$($(BIN)/devcluster kubeconfig); $(MAKE) images; hack/leave-olm.sh; \
	  for helm in $(helm_programs); do \
	    printf '\n==> Helm %s\n' "$$($$helm version --short)"; \
	    HELM=$$helm go test ./test/e2e -v -ginkgo.v -ginkgo.label-filter="$(HELM_LABELS)" $(E2E_LIMITS); \
	  done

.PHONY: helm-test-short
helm-test-short:
	@$(MAKE) helm-test HELM_LABELS='helm && !long' HELM=3

# What an installation by Helm depends on beside what end-to-end tests test. The chart's CRDs are those of the manifest.
HELM_PATHS = hack/packaging/chart hack/chart.sh hack/render.sh config/default config/manager config/rbac hack/tools/helm hack/tools/helm4 \
  test/e2e/helm*.go
.PHONY: helm-changed
helm-changed:
	@go run ./hack/gate changed helm-test-short helm-test $(HELM_PATHS)

##@ Tools

TOOLS := controller-gen crd-ref-docs golangci-lint govulncheck helm kustomize operator-sdk

.PHONY: tools
tools: $(TOOLS:%=$(BIN)/%) ## Build the pinned tools of hack/tools into bin/

# Helm 4 is for tests of the chart alone. Its program is called helm, too.
$(TOOLS:%=$(BIN)/%) $(BIN)/helm4: $(BIN)/%: hack/tools/%/go.mod hack/tools/%/go.sum
	$(say) "build $* as pinned in hack/tools/$*"
	@mkdir -p $(BIN)
	@$(build) -C hack/tools/$* build -ldflags="-s -w $(TOOL_LDFLAGS)" -o $@ tool
	@touch $@

# operator-sdk writes its own version into bundles, and knows it from the linker alone.
$(BIN)/operator-sdk: TOOL_LDFLAGS = $(foreach name,Version GitVersion,-X $(sdk)/internal/version.$(name)=$(sdk_version))
sdk := github.com/operator-framework/operator-sdk
sdk_version = $(shell go -C hack/tools/operator-sdk list -m -f '{{.Version}}' $(sdk))

# Helm knows its version, and which Kubernetes it was made for, from the linker alone.
$(BIN)/helm: TOOL_LDFLAGS = -X $(helm)/internal/version.version=$(call helm_has,$(helm)) \
  $(foreach package,chartutil lint/rules,-X $(helm)/pkg/$(package).k8sVersionMajor=1 -X $(helm)/pkg/$(package).k8sVersionMinor=$(helm_kubernetes))
helm := helm.sh/helm/v3
helm_has = $(shell go -C hack/tools/helm list -m -f '{{.Version}}' $(1))
helm_kubernetes = $(word 2,$(subst ., ,$(call helm_has,k8s.io/client-go)))

# It asks itself which Kubernetes it was made for.
$(BIN)/helm4: TOOL_LDFLAGS = -X helm.sh/helm/v4/internal/version.version=$(shell go -C hack/tools/helm4 list -m -f '{{.Version}}' helm.sh/helm/v4)

# The one that the local cluster's catalogs are served by, for whoever looks at them by hand, and for tests.
$(BIN)/opm: $(BIN)/devcluster
	@$(BIN)/devcluster build --only opm
	@ln -sf ../.devcluster/bin/opm $@

# Always asked; the Go build cache makes it a matter of a second.
.PHONY: $(BIN)/devcluster
$(BIN)/devcluster:
	@mkdir -p $(BIN)
	@$(build) -C hack/devcluster build -o $(BIN)/devcluster .
