module github.com/etcd-operator/etcd-operator/test/monitoring

go 1.26.7

tool github.com/prometheus/prometheus/cmd/promtool

require github.com/prometheus/prometheus v0.316.0
