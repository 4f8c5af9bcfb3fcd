module github.com/etcd-operator/etcd-operator/hack/components/pause

go 1.26.0
