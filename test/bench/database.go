// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	// documentSize is that of each value, in bytes: two with their keys fill four pages of bbolt's, which splits no further.
	documentSize, documentShare = 8000, 8 << 10
	// documentsAtOnce go into one transaction, which stays below the 1.5 MiB that etcd takes.
	documentsAtOnce = 16
	// documentSeed makes each run write the same.
	documentSeed = 21
)

// document is a value as clusters have it: half of it is random, in base64, as keys and certificates of Secrets are; the
// other half is JSON that repeats itself. The same number always gives the same text. Random bytes
// alone would be the worst case of any compression, and zeros none at all.
func document(number uint64) string {
	random := rand.New(rand.NewPCG(documentSeed, number)) //nolint:gosec // nothing secret is drawn
	secret := make([]byte, 0, documentSize/2)
	for len(secret) < base64.StdEncoding.DecodedLen(documentSize/2) {
		secret = binary.LittleEndian.AppendUint64(secret, random.Uint64())
	}
	text := fmt.Appendf(make([]byte, 0, documentSize+200),
		`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"secret-%d","uid":"%016x"},"data":{"key":%q},"managedFields":[`,
		number, random.Uint64(), base64.StdEncoding.EncodeToString(secret))
	for len(text) < documentSize {
		text = fmt.Appendf(text, `{"manager":"kubelet","operation":"Update","node":"node-%d","time":"2026-11-%02dT%02d:00:00Z"},`,
			random.IntN(100), 1+random.IntN(30), random.IntN(24))
	}
	return string(text[:documentSize])
}

// fillWithDocuments makes the database so large, and then the log of its making short, as fill does with random bytes.
func (b *bench) fillWithDocuments(ctx context.Context, cluster string, sizeMiB int) error {
	a, err := b.application(ctx, cluster)
	if err != nil {
		return err
	}
	defer a.close()
	begin := time.Now()
	if err := writeDocuments(ctx, a.etcd, sizeMiB*mebibyte/documentShare); err != nil {
		return err
	}
	if err := write(ctx, a.etcd, "small", "", smallWrites); err != nil {
		return err
	}
	now, err := b.serving(ctx, cluster, 3)
	if err != nil {
		return err
	}
	b.progress("%s has a database of %d MiB after %s", cluster, now.leader.status.DBSize/mebibyte, time.Since(begin).Round(time.Second))
	return nil
}

func documentKey(number int) string {
	return fmt.Sprintf("/registry/secrets/default/secret-%d", number)
}

// writeDocuments writes so many documents, some at once.
func writeDocuments(ctx context.Context, etcd *clientv3.Client, count int) error {
	transactions := make(chan []clientv3.Op)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		defer close(transactions)
		for first := 0; first < count; first += documentsAtOnce {
			select {
			case transactions <- puts(first, min(first+documentsAtOnce, count)):
			case <-ctx.Done():
				return
			}
		}
	}()
	err := atOnce(make([]struct{}, writers), func(struct{}) error {
		for puts := range transactions {
			ctx, cancelOne := context.WithTimeout(ctx, patience)
			_, err := etcd.Txn(ctx).Then(puts...).Commit()
			cancelOne()
			if err != nil {
				cancel(err) // the others need not go on
				return fmt.Errorf("fill the database: %w", err)
			}
		}
		return nil
	})
	return err
}

// puts write the documents from one to before another.
func puts(from, to int) []clientv3.Op {
	var all []clientv3.Op
	for i := from; i < to; i++ {
		all = append(all, clientv3.OpPut(documentKey(i), document(uint64(i)))) //nolint:gosec // it counts from 0
	}
	return all
}
