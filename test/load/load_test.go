// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"
)

// liar is one etcd that keeps its word only as long as it is told to.
type liar struct {
	etcdserverpb.UnimplementedKVServer

	mutex  sync.Mutex
	keys   map[string]*mvccpb.KeyValue
	past   map[string]*mvccpb.KeyValue
	loses  bool  // answers writes and forgets them
	stale  bool  // answers reads with what was before the last write
	refuse error // is the answer to every write
	mute   bool  // carries writes out and does not answer
}

func (l *liar) Put(ctx context.Context, asked *etcdserverpb.PutRequest) (*etcdserverpb.PutResponse, error) {
	before, mute, err := l.put(string(asked.Key), asked.Value)
	if mute {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &etcdserverpb.PutResponse{Header: &etcdserverpb.ResponseHeader{}, PrevKv: before}, err
}

func (l *liar) put(key string, value []byte) (before *mvccpb.KeyValue, mute bool, err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	before = l.keys[key]
	if !l.loses && l.refuse == nil {
		l.past[key] = before
		l.keys[key] = &mvccpb.KeyValue{Key: []byte(key), Value: value, Version: before.GetVersion() + 1}
	}
	return clone(before), l.mute, l.refuse
}

func (l *liar) Range(_ context.Context, asked *etcdserverpb.RangeRequest) (*etcdserverpb.RangeResponse, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	answer := &etcdserverpb.RangeResponse{Header: &etcdserverpb.ResponseHeader{}}
	from := l.keys
	if l.stale {
		from = l.past
	}
	if found := from[string(asked.Key)]; found != nil {
		answer.Kvs = append(answer.Kvs, clone(found))
	}
	return answer, nil
}

// clone is for one answer alone, because encoding writes into a message.
func clone(kv *mvccpb.KeyValue) *mvccpb.KeyValue {
	if kv == nil {
		return nil
	}
	return &mvccpb.KeyValue{Key: kv.Key, Value: kv.Value, Version: kv.Version}
}

func (l *liar) becomes(change func(*liar)) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	change(l)
}

// serve gives the liar an address, and clients a way to it.
func serve(t *testing.T) (*liar, Dial) {
	t.Helper()
	l := &liar{keys: map[string]*mvccpb.KeyValue{}, past: map[string]*mvccpb.KeyValue{}}
	listener := bufconn.Listen(1 << 20)
	server := grpc.NewServer()
	etcdserverpb.RegisterKVServer(server, l)
	go server.Serve(listener) //nolint:errcheck // it ends when it is stopped
	t.Cleanup(server.Stop)
	return l, func() (*clientv3.Client, error) {
		return clientv3.New(clientv3.Config{
			Endpoints: []string{"http://liar"}, MaxUnaryRetries: 1, Logger: zap.NewNop(),
			DialOptions: []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
				return listener.DialContext(ctx)
			})},
		})
	}
}

// connected is a liar and one client of it.
func connected(t *testing.T) (*liar, *clientv3.Client) {
	t.Helper()
	l, dial := serve(t)
	etcd, err := dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { etcd.Close() })
	return l, etcd
}

// busy is what clients saw of a server that changed every now and then. Time is that of a bubble
// (testing/synctest): it passes only when all wait for it, so that a busy machine changes nothing.
func busy(t *testing.T, changes ...func(*liar)) Result {
	t.Helper()
	server, dial := serve(t)
	l, err := Start(t.Context(), dial)
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range changes {
		time.Sleep(200 * time.Millisecond)
		server.becomes(change)
	}
	time.Sleep(200 * time.Millisecond)
	return l.End()
}

func TestAllIsWell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := busy(t, func(*liar) {})
		if err := r.Err(); err != nil {
			t.Error(err)
		}
		if r.Failed > 0 || r.Writes < 50 || r.Reads < 50 || len(r.History) != r.Writes+r.Reads+keys || r.Gap > 2*pause {
			t.Error(r)
		}
	})
}

func TestFaultsAreFound(t *testing.T) {
	for name, fault := range map[string]func(*liar){
		"lost writes": func(l *liar) { l.loses = true },
		"stale reads": func(l *liar) { l.stale = true },
		"lost data":   func(l *liar) { l.keys = map[string]*mvccpb.KeyValue{} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if err := busy(t, fault).Err(); err == nil || !strings.Contains(err.Error(), "not linearizable") {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

func TestRefusedWritesNeverHappened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := busy(t, func(l *liar) { l.refuse = rpctypes.ErrGRPCNoSpace }, func(l *liar) { l.refuse = nil })
		if err := r.Err(); err != nil {
			t.Error(err)
		}
		if r.Failed == 0 || r.Gap < 150*time.Millisecond {
			t.Error(r)
		}
		for _, o := range r.History {
			if o.Outcome == Unknown {
				t.Fatalf("taken for unknown: %s: %v", o, o.Err)
			}
		}
	})
}

func TestWritesWithoutAnAnswerMayHaveHappened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, dial := serve(t)
		server.becomes(func(l *liar) { l.mute = true })
		l, err := Start(t.Context(), dial)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(200 * time.Millisecond)
		server.becomes(func(l *liar) { l.mute = false })
		time.Sleep(patience)
		r := l.End()
		if err := r.Err(); err != nil {
			t.Error(err)
		}
		unknown := 0
		for _, o := range r.History {
			if o.Outcome == Unknown {
				unknown++
			}
		}
		if unknown != writers || r.Writes == 0 {
			t.Errorf("%d writes without an answer: %s", unknown, r)
		}
	})
}

func TestPulseMeasuresTheTimeWithoutAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, etcd := connected(t)
		p := StartPulse(t.Context(), etcd, "pulse")
		time.Sleep(300 * time.Millisecond)
		server.becomes(func(l *liar) { l.mute = true })
		time.Sleep(600 * time.Millisecond)
		server.becomes(func(l *liar) { l.mute = false })
		time.Sleep(500 * time.Millisecond)
		if b := p.End(); b.Failed > 0 || b.Tries < 3 || b.Tries > 4 || b.Writes < 20 || b.Gap < 600*time.Millisecond || b.Gap > time.Second {
			t.Error(b)
		}
	})
}

// TestPulseGivesAWriteUp: after five tries, which take a second.
func TestPulseGivesAWriteUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, etcd := connected(t)
		server.becomes(func(l *liar) { l.mute = true })
		p := StartPulse(t.Context(), etcd, "pulse")
		time.Sleep(1200 * time.Millisecond)
		if b := p.End(); b.Failed < 1 || b.Tries < 5*b.Failed || b.Writes > 0 || b.Refused > 0 {
			t.Error(b)
		}
	})
}

// TestPulseTellsRefusals: from writes that only had no answer in time.
func TestPulseTellsRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, etcd := connected(t)
		server.becomes(func(l *liar) { l.refuse = rpctypes.ErrGRPCPermissionDenied })
		p := StartPulse(t.Context(), etcd, "pulse")
		time.Sleep(200 * time.Millisecond)
		if b := p.End(); b.Failed < 1 || b.Refused != b.Failed {
			t.Error(b)
		}
	})
}
