package layout

import "path/filepath"

// Addresses that belong to the cluster as a whole.
const (
	// PodsRange holds every node's pod range.
	PodsRange = "10.244.0.0/16"
	// ServicesRange holds every Service's address.
	ServicesRange = "10.96.0.0/16"
	// APIService is the first address of ServicesRange.
	APIService = "10.96.0.1"
	// DNSService is the address that the kubelet hands to pods.
	DNSService = "10.96.0.10"
	// RegistryAddress stands in for every image registry.
	RegistryAddress = "127.0.0.1:5000"
	// EtcdClients and EtcdPeers leave etcd's usual ports to others.
	EtcdClients = "127.0.0.1:12379"
	EtcdPeers   = "127.0.0.1:12380"
	// ProvisionerHealth is where the volume provisioner says it is well.
	ProvisionerHealth = "127.0.0.1:10270"
	// APIPort is the API server's port on every address.
	APIPort = "6443"
	// NodeBridge carries node addresses; it needs no member to be up.
	NodeBridge = "devcluster0"
	// PodBridge is what pods are plugged into.
	PodBridge = "devcluster1"
)

// Node is one machine of the cluster: its own runtime, kubelet and pod range.
type Node struct {
	Name     string
	Number   int
	Dir      string
	Run      string
	IP       string
	PodRange string
}

// Socket is the container runtime's.
func (n Node) Socket() string { return filepath.Join(n.Run, "containerd.sock") }

// RuntimeState is lost on a reboot, as the runtime wants it.
func (n Node) RuntimeState() string { return filepath.Join(n.Run, "containerd") }

// RuntimeRoot holds images and container roots.
func (n Node) RuntimeRoot() string { return filepath.Join(n.Dir, "containerd") }

// Kubelet is the kubelet's folder, below which it mounts pods' volumes.
func (n Node) Kubelet() string { return filepath.Join(n.Dir, "kubelet") }

// PodLogs holds containers' output.
func (n Node) PodLogs() string { return filepath.Join(n.Dir, "pod-logs") }

// Volumes holds one file per persistent volume, and where it is mounted.
func (n Node) Volumes() string { return filepath.Join(n.Dir, "volumes") }

// CNI holds the network's configuration and its leases.
func (n Node) CNI() string { return filepath.Join(n.Dir, "cni") }

// Settings holds the files that the node's daemons read.
func (n Node) Settings() string { return filepath.Join(n.Dir, "etc") }

// Cgroup is the node's place in every cgroup hierarchy.
func (n Node) Cgroup() string { return "/" + Name + "/" + n.Name }
