// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package netfault

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"
)

const (
	// tunnel is the device that packets are routed into to be delayed.
	tunnel = "fault0"
	// delayed marks packets that have been delayed, and numbers the routes into the
	// tunnel, which are for packets without the mark.
	delayed = 75
)

// Delay makes every packet from a member to others take so much longer. It is done
// here, because not every kernel has netem: routes lead packets into a TUN device
// (https://docs.kernel.org/networking/tuntap.html), and from there they come to us,
// who send them on after a while.
func (n *Network) Delay(by time.Duration, others ...*Network) {
	GinkgoHelper()
	from, to := n.openTunnel()
	n.tunnel = from
	script := []string{
		"echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter", "echo 0 >/proc/sys/net/ipv4/conf/eth0/rp_filter",
		"ip link set " + tunnel + " up",
		fmt.Sprintf("ip rule add not fwmark %d lookup %d", delayed, delayed),
	}
	for _, other := range others {
		script = append(script, fmt.Sprintf("ip route add %s dev %s src %s table %d", other.Address, tunnel, n.Address, delayed))
	}
	n.Run(strings.Join(script, "\n"), "sh", "-e")
	packets := make(chan packet, 1<<14)
	go receive(from, packets)
	go sendLater(to, by, packets)
}

// hurry ends a delay: the device goes, and its routes with it.
func (n *Network) hurry() {
	GinkgoHelper()
	if n.tunnel == nil {
		return
	}
	Expect(n.tunnel.Close()).To(Succeed())
	n.tunnel = nil
	n.Run("", "ip", "rule", "delete", "not", "fwmark", strconv.Itoa(delayed), "lookup", strconv.Itoa(delayed))
}

// openTunnel makes the device, and a way past it, in the namespace.
func (n *Network) openTunnel() (from *os.File, to int) {
	GinkgoHelper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocks: the thread ends with this function
		done <- func() error {
			if err := unix.Setns(int(n.file.Fd()), unix.CLONE_NEWNET); err != nil {
				return fmt.Errorf("enter the namespace: %w", err)
			}
			var err error
			if from, err = newTUN(); err != nil {
				return err
			}
			if to, err = unix.Socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_RAW); err != nil {
				return fmt.Errorf("open a raw socket: %w", err)
			}
			return unix.SetsockoptInt(to, unix.SOL_SOCKET, unix.SO_MARK, delayed)
		}()
	}()
	Expect(<-done).To(Succeed())
	return from, to
}

func newTUN() (*os.File, error) {
	device, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open the TUN driver: %w", err)
	}
	request, err := unix.NewIfreq(tunnel)
	if err != nil {
		return nil, fmt.Errorf("name the device: %w", err)
	}
	request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(device, unix.TUNSETIFF, request); err != nil {
		return nil, fmt.Errorf("make a TUN device: %w", err)
	}
	return os.NewFile(uintptr(device), tunnel), nil
}

// packet is one IPv4 packet and when it came.
type packet struct {
	bytes []byte
	came  time.Time
}

// receive reads packets until the tunnel is closed.
func receive(from *os.File, packets chan<- packet) {
	defer close(packets)
	buffer := make([]byte, 1<<16)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		if n >= 20 && buffer[0]>>4 == 4 { // the kernel's own greetings are IPv6
			packets <- packet{append([]byte(nil), buffer[:n]...), time.Now()}
		}
	}
}

// sendLater sends packets in the order in which they came.
func sendLater(to int, by time.Duration, packets <-chan packet) {
	defer unix.Close(to) //nolint:errcheck // nothing is lost with it
	for p := range packets {
		time.Sleep(by - time.Since(p.came))
		destination := unix.SockaddrInet4{Addr: [4]byte(p.bytes[16:20])}
		_ = unix.Sendto(to, p.bytes, 0, &destination) // a packet may get lost
	}
}
